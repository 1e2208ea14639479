package io.holdfast.gates;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** The files of the repository, without what was built from them. */
record SourceTree(Path root) {

    private static final Set<String> NOT_OURS =
            Set.of("target", ".git", ".idea", ".vscode", ".settings", "node_modules");

    /** The repository that is being built. */
    static SourceTree ofBuild() {
        String root = System.getProperty("holdfast.root", "..");
        return new SourceTree(Path.of(root).toAbsolutePath().normalize());
    }

    /** All files whose names end in one of these. */
    List<Path> files(String... endings) {
        List<Path> found = new ArrayList<>();
        try {
            Files.walkFileTree(root, new SimpleFileVisitor<>() {
                @Override
                public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
                    boolean skip = NOT_OURS.contains(String.valueOf(folder.getFileName())) && !folder.equals(root);
                    return skip ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
                }

                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                    for (String ending : endings) {
                        if (file.toString().endsWith(ending)) {
                            found.add(file);
                            break;
                        }
                    }
                    return FileVisitResult.CONTINUE;
                }
            });
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        found.sort(null);
        return found;
    }

    static String text(Path file) {
        try {
            return Files.readString(file, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** As people name it. */
    String name(Path file) {
        return root.relativize(file).toString();
    }
}
