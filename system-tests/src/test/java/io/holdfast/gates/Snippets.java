package io.holdfast.gates;

import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/**
 * Java in pages. A block that begins with three backticks and {@code java} is compiled; one marked {@code java sketch}
 * is not. A block of statements is put into a method of a class that extends {@link SnippetWorld}, which has what the
 * reader's own program would bring along.
 */
final class Snippets {

    private static final Pattern BLOCK = Pattern.compile("(?ms)^```java\\n(.*?)^```");

    private Snippets() {}

    static List<String> javaBlocks(String page) {
        List<String> blocks = new ArrayList<>();
        Matcher block = BLOCK.matcher(page);
        while (block.find()) {
            blocks.add(block.group(1));
        }
        return blocks;
    }

    /** What the compiler says against it; empty when it compiles. */
    static List<String> compile(String statements, Path output) {
        String program = """
                import static java.time.Duration.*;
                import io.holdfast.*;
                import io.holdfast.app.wiring.*;
                import io.holdfast.redis.*;
                import io.holdfast.redis.aggregate.*;
                import io.holdfast.slab.*;
                import io.holdfast.sweep.*;
                import io.holdfast.sweep.catalogue.*;
                import io.holdfast.sweep.node.*;
                import io.holdfast.sweep.piece.*;
                import java.nio.file.*;
                import java.util.*;
                @SuppressWarnings("unused")
                public class Snippet extends io.holdfast.gates.SnippetWorld {
                    @Override
                    public void run() throws Exception {
                %s
                    }
                }
            """.formatted(statements);
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> diagnostics = new DiagnosticCollector<>();
        JavaFileObject source =
                new SimpleJavaFileObject(URI.create("string:///Snippet.java"), JavaFileObject.Kind.SOURCE) {
                    @Override
                    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                        return program;
                    }
                };
        List<String> options =
                List.of("-proc:none", "-d", output.toString(), "-cp", System.getProperty("java.class.path"));
        compiler.getTask(new StringWriter(), null, diagnostics, options, null, List.of(source))
                .call();
        return diagnostics.getDiagnostics().stream()
                .filter(diagnostic -> diagnostic.getKind() == Diagnostic.Kind.ERROR)
                .map(diagnostic -> diagnostic.getMessage(null))
                .toList();
    }
}
