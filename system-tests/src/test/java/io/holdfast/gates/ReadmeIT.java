package io.holdfast.gates;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The lines of the README are not only compiled but run. */
class ReadmeIT {

    @TempDir
    Path folder;

    @Test
    void theReadmesLinesDoWhatTheySay() throws Exception {
        String readme = SourceTree.text(SourceTree.ofBuild().root().resolve("README.md"));
        List<String> blocks = Snippets.javaBlocks(readme);
        assertThat(blocks).isNotEmpty();
        for (String block : blocks) {
            assertThat(Snippets.compile(block, folder)).isEmpty();
            URL[] classes = {folder.toUri().toURL()};
            try (URLClassLoader loader = new URLClassLoader(classes, getClass().getClassLoader())) {
                SnippetWorld world = (SnippetWorld)
                        loader.loadClass("Snippet").getConstructor().newInstance();
                world.run();
                assertThat(world.shown).contains("a page");
            }
        }
    }
}
