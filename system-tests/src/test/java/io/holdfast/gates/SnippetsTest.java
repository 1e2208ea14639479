package io.holdfast.gates;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every block of Java in the README and the docs compiles against the product as it is. */
class SnippetsTest {

    @TempDir
    Path folder;

    record Snippet(String page, int number, String code) {
        @Override
        public String toString() {
            return page + " " + number;
        }
    }

    static Stream<Snippet> snippets() {
        SourceTree tree = SourceTree.ofBuild();
        List<Snippet> all = new ArrayList<>();
        for (Path page : tree.files(".md")) {
            List<String> blocks = Snippets.javaBlocks(SourceTree.text(page));
            for (int i = 0; i < blocks.size(); i++) {
                all.add(new Snippet(tree.name(page), i + 1, blocks.get(i)));
            }
        }
        return all.stream();
    }

    @ParameterizedTest
    @MethodSource("snippets")
    void compiles(Snippet snippet) {
        assertThat(Snippets.compile(snippet.code(), folder)).isEmpty();
    }

    @Test
    void theReadmeShowsCode() {
        assertThat(snippets().map(Snippet::page)).contains("README.md");
    }

    @Test
    void aSnippetThatDoesNotCompileIsFound() {
        assertThat(Snippets.compile("try (var holdfast = Holdfast.nonsense()) {}", folder))
                .singleElement()
                .asString()
                .contains("nonsense");
        assertThat(Snippets.compile("try (var holdfast = Holdfast.embedded()) { holdfast.where(); }", folder))
                .isEmpty();
    }
}
