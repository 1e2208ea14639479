package io.holdfast.testkit;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;

/**
 * Children of one main class that start at half the price: from the JVM's cache of classes that are loaded and linked, which
 * one child fills that runs to its end. Worth it for a test that kills a process hundreds of times.
 */
public final class ClassCache {

    private final String classPath;
    private final Path file;

    private ClassCache(String classPath, Path file) {
        this.classPath = classPath;
        this.file = file;
    }

    /**
     * Fills a cache.
     *
     * @param folder for the cache, and for jars: the JVM caches nothing that comes from folders of classes
     * @param training reaches what the others will reach, and ends with exit code 0
     */
    public static ClassCache fill(Path folder, ChildJvm.Setup training) throws IOException {
        Files.createDirectories(folder);
        List<String> parts = new ArrayList<>();
        for (String part : ChildJvm.ownClassPath().split(":")) {
            Path path = Path.of(part);
            parts.add(Files.isDirectory(path) ? jar(path, folder.resolve(parts.size() + ".jar")) : part);
        }
        ClassCache cache = new ClassCache(String.join(":", parts), folder.resolve("classes.aot"));
        try (ChildJvm child = training.options("-XX:AOTCacheOutput=" + cache.file)
                .classPath(cache.classPath)
                .launch()) {
            if (child.awaitExit() != 0 || !Files.exists(cache.file)) {
                throw new IllegalStateException("no cache was made: " + child.errors());
            }
        }
        return cache;
    }

    /** A child that starts from this cache. */
    public ChildJvm.Setup child(Class<?> main) {
        return ChildJvm.of(main).options("-XX:AOTCache=" + file).classPath(classPath);
    }

    private static String jar(Path classes, Path jar) throws IOException {
        try (OutputStream out = Files.newOutputStream(jar);
                JarOutputStream entries = new JarOutputStream(out);
                Stream<Path> files = Files.walk(classes)) {
            for (Path path : files.filter(Files::isRegularFile).toList()) {
                entries.putNextEntry(new JarEntry(classes.relativize(path).toString()));
                Files.copy(path, entries);
                entries.closeEntry();
            }
        }
        return jar.toString();
    }
}
