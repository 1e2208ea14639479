package io.holdfast.gates;

import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.LineMap;
import com.sun.source.tree.MethodTree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.TreeScanner;
import com.sun.source.util.Trees;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;

/** Files and methods that are too long to be read at once. */
final class LongCode {

    static final int MOST_LINES_OF_A_FILE = 600;
    static final int MOST_LINES_OF_A_METHOD = 70;

    private LongCode() {}

    static List<String> files(SourceTree tree) {
        List<String> findings = new ArrayList<>();
        for (Path file : tree.files(".java", ".lua", ".bash", ".proto", ".py")) {
            long lines = SourceTree.text(file).lines().count();
            if (lines > MOST_LINES_OF_A_FILE) {
                findings.add(tree.name(file) + " has " + lines + " lines, at most " + MOST_LINES_OF_A_FILE);
            }
        }
        return findings;
    }

    /** Read by the compiler's own parser; nothing is compiled. */
    static List<String> methods(SourceTree tree) {
        List<Path> sources = tree.files(".java");
        if (sources.isEmpty()) {
            return List.of();
        }
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        List<String> findings = new ArrayList<>();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
            JavacTask task = (JavacTask) compiler.getTask(
                    null, files, null, List.of("-proc:none"), null, files.getJavaFileObjectsFromPaths(sources));
            SourcePositions positions = Trees.instance(task).getSourcePositions();
            for (CompilationUnitTree unit : task.parse()) {
                String name = tree.name(Path.of(unit.getSourceFile().toUri()));
                unit.accept(new MethodScanner(unit, positions, name, findings), null);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return findings;
    }

    private static final class MethodScanner extends TreeScanner<@Nullable Void, @Nullable Void> {

        private final CompilationUnitTree unit;
        private final SourcePositions positions;
        private final String file;
        private final List<String> findings;

        MethodScanner(CompilationUnitTree unit, SourcePositions positions, String file, List<String> findings) {
            this.unit = unit;
            this.positions = positions;
            this.file = file;
            this.findings = findings;
        }

        @Override
        public @Nullable Void visitMethod(MethodTree method, @Nullable Void nothing) {
            LineMap lines = unit.getLineMap();
            long first = lines.getLineNumber(positions.getStartPosition(unit, method));
            long last = lines.getLineNumber(positions.getEndPosition(unit, method));
            if (last - first + 1 > MOST_LINES_OF_A_METHOD) {
                findings.add(file + ":" + first + " " + method.getName() + " has " + (last - first + 1)
                        + " lines, at most " + MOST_LINES_OF_A_METHOD);
            }
            return super.visitMethod(method, null);
        }
    }
}
