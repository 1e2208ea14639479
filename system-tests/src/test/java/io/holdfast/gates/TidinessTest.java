package io.holdfast.gates;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import io.holdfast.Setting;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TidinessTest {

    private static final SourceTree TREE = SourceTree.ofBuild();
    private static final JavaClasses PRODUCT = Product.CLASSES;

    @Test
    void noLinkIsDead() {
        assertThat(DeadLinks.in(TREE)).isEmpty();
    }

    @Test
    void everySettingIsInTheDocs() {
        Map<String, Setting<?>> declared = SettingsInDocs.declared(PRODUCT);
        assertThat(declared).containsKey("redis.uri");
        String page = SourceTree.text(TREE.root().resolve("docs/configuration.md"));
        assertThat(SettingsInDocs.findings(declared, page)).isEmpty();
    }

    @Test
    void publicNamesKeepToTheVocabulary() {
        assertThat(BannedWords.in(PRODUCT)).isEmpty();
    }

    @Test
    void commandsAndOptionsKeepToTheVocabulary() {
        assertThat(BannedWords.inCommands()).isEmpty();
    }

    @Test
    void noFileIsTooLong() {
        assertThat(LongCode.files(TREE)).isEmpty();
    }

    @Test
    void noMethodIsTooLong() {
        assertThat(LongCode.methods(TREE)).isEmpty();
    }

    @Test
    void noMergeIsUndecided() {
        assertThat(MergeMarks.in(TREE)).isEmpty();
    }

    @Test
    void noFileNamesTheMachineItWasWrittenOn() {
        assertThat(MachinePaths.in(TREE)).isEmpty();
    }

    /** Each gate closes on a planted mistake, and on nothing else around it. */
    @Nested
    class AGateCloses {

        @TempDir
        Path folder;

        private SourceTree tree(String name, String content) throws IOException {
            Path file = folder.resolve(name);
            Files.createDirectories(file.getParent());
            Files.writeString(file, content);
            return new SourceTree(folder);
        }

        @Test
        void onALinkToAMissingPage() throws IOException {
            tree("docs/here.md", "# Some place\n");
            assertThat(DeadLinks.in(tree("a.md", "[ok](docs/here.md) [far](https://example.org) [no](docs/gone.md)")))
                    .containsExactly("a.md links to docs/gone.md, which is not there");
        }

        @Test
        void onALinkToAMissingHeading() throws IOException {
            tree("docs/here.md", "# Some `place`, here\n");
            SourceTree tree = tree("a.md", "[ok](docs/here.md#some-place-here) [no](docs/here.md#elsewhere)");
            assertThat(DeadLinks.in(tree)).singleElement().asString().contains("#elsewhere");
        }

        @Test
        void onAMissingPageNamedInCode() throws IOException {
            assertThat(DeadLinks.in(tree("A.java", "/** See docs/" + "gone.md. */")))
                    .hasSize(1);
        }

        @Test
        void onALongFile() throws IOException {
            tree("target/Built.java", "\n".repeat(900));
            tree("Fits.java", "\n".repeat(600));
            assertThat(LongCode.files(tree("Long.java", "\n".repeat(601))))
                    .containsExactly("Long.java has 601 lines, at most 600");
        }

        @Test
        void onALongMethod() throws IOException {
            String body = "        int i;\n".repeat(69);
            tree("Fits.java", "class Fits {\n    void fits() {\n" + body.substring(15) + "    }\n}\n");
            SourceTree tree = tree("Long.java", "class Long {\n    void tooLong() {\n" + body + "    }\n}\n");
            assertThat(LongCode.methods(tree)).containsExactly("Long.java:2 tooLong has 71 lines, at most 70");
        }

        @Test
        void onWordsThatTheVocabularyReplaces() {
            JavaClasses planted = new ClassFileImporter().importClasses(PlantedNames.class, PlantedNames.Hidden.class);
            assertThat(BannedWords.in(planted))
                    .hasSize(4)
                    .anySatisfy(finding -> assertThat(finding).contains("'expired'"))
                    .anySatisfy(finding -> assertThat(finding).contains("'ref'"))
                    .anySatisfy(finding -> assertThat(finding).contains("'gc'"))
                    .anySatisfy(finding -> assertThat(finding).contains("'owner'"));
        }

        @Test
        void onASettingThatIsNotListedOrListedWrongly() {
            Map<String, Setting<?>> declared = Map.of(
                    "a.size", Setting.integer("a.size", 7, 1, 9),
                    "a.count", Setting.integer("a.count", 3, 1, 9));
            String page = "| `a.size` | `8` | 1 to 9 | how many |\n| `a.gone` | `1` | 1 to 9 | none |\n";
            assertThat(SettingsInDocs.findings(declared, page))
                    .hasSize(3)
                    .anySatisfy(finding -> assertThat(finding).contains("does not list a.count"))
                    .anySatisfy(finding -> assertThat(finding).contains("says that a.size is 8"))
                    .anySatisfy(finding -> assertThat(finding).contains("lists a.gone"));
        }

        @Test
        void onAnUndecidedMerge() throws IOException {
            tree("fine.md", "a <<<<<<< b\n# Heading\n");
            assertThat(MergeMarks.in(tree("a.md", "a\n" + "<".repeat(7) + " HEAD\nb\n")))
                    .containsExactly("a.md has an undecided merge");
        }

        @Test
        void onAPathOfAMachine() throws IOException {
            tree("fine.md", "see /usr/lib/jvm, /dev/shm and https://example.org/wo" + "rk/list");
            assertThat(MachinePaths.in(tree("a.md", "built in /wo" + "rk/main by repo1.mav" + "en.example")))
                    .hasSize(2);
        }
    }
}
