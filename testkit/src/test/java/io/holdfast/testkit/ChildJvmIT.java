package io.holdfast.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ChildJvmIT {

    @TempDir
    Path folder;

    @Test
    void linesGoBothWaysUntilTheChildIsKilled() {
        try (var child = ChildJvm.of(Echo.class).arguments("hello").start()) {
            assertThat(child.readLine())
                    .isEqualTo("hello on " + Runtime.version().feature());
            child.send("one");
            assertThat(child.readLine()).isEqualTo("echo one");

            child.stall();
            child.send("two");
            assertThat(Signals.isStalled(child.pid())).isTrue();
            child.resume();
            assertThat(child.awaitLine(line -> line.endsWith("two"))).isEqualTo("echo two");

            child.kill();
            assertThat(child.isAlive()).isFalse();
            assertThat(child.readLine()).isNull();
            assertThat(child.readLine()).isNull();
            assertThat(child.awaitExit()).isEqualTo(137);
        }
    }

    @Test
    void aStalledChildCanBeKilled() {
        try (var child = ChildJvm.of(Echo.class).arguments("hello").start()) {
            child.stall();
            child.kill();
            child.awaitKilled();
        }
    }

    @Test
    void aChildThatFailsTellsWhy() {
        assertThatThrownBy(() -> ChildJvm.of(Failing.class).start())
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("it ended with 1")
                .hasMessageContaining("planted failure");
    }

    @Test
    void aChildDiesAtTheNamedPointAndDoesNothingMore() throws Exception {
        Path file = folder.resolve("written");
        try (var child = ChildJvm.of(Writer.class)
                .arguments(file)
                .killAt(KillPoint.at("before", 3))
                .launch()) {
            child.awaitKilled();
        }
        assertThat(Files.readString(file)).isEqualTo("0.1.2");
    }

    @Test
    void aChildStandsStillAtTheNamedPointAndGoesOn() throws Exception {
        Path file = folder.resolve("written");
        try (var child = ChildJvm.of(Writer.class)
                .arguments(file)
                .killAt(KillPoint.stallAt("after", 2))
                .launch()) {
            child.awaitLine("1 written"::equals);
            child.awaitStalled();
            assertThat(Files.readString(file)).isEqualTo("0.1.");

            child.resume();
            assertThat(child.awaitExit()).isZero();
        }
        assertThat(Files.readString(file)).isEqualTo("0.1.2.3.4.");
    }

    @Test
    void aChildEndsWithItsParent() throws Exception {
        try (var parent = ChildJvm.of(Parent.class).start()) {
            long grandchild = Long.parseLong(String.valueOf(parent.readLine()));
            var handle = ProcessHandle.of(grandchild).orElseThrow();

            parent.kill();

            handle.onExit().get(30, TimeUnit.SECONDS);
            assertThat(handle.isAlive()).isFalse();
        }
    }

    static final class Echo {
        public static void main(String[] arguments) throws Exception {
            ChildJvm.sayReady();
            ChildJvm.say(arguments[0] + " on " + Runtime.version().feature());
            var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            while (true) {
                ChildJvm.say("echo " + in.readLine());
            }
        }
    }

    static final class Failing {
        public static void main(String[] arguments) {
            if (arguments.length == 0) {
                throw new IllegalStateException("planted failure");
            }
        }
    }

    static final class Parent {
        public static void main(String[] arguments) throws Exception {
            var child = ChildJvm.of(Echo.class).arguments("hello").start();
            ChildJvm.sayReady();
            ChildJvm.say(String.valueOf(child.pid()));
            System.in.read();
        }
    }

    /** Code with two named points: each number is written, then sealed with a dot. */
    static final class Writer {
        public static void main(String[] arguments) throws Exception {
            Consumer<String> points = KillPoint.ofThisJvm();
            try (var file =
                    FileChannel.open(Path.of(arguments[0]), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                for (int i = 0; i < 5; i++) {
                    file.write(ByteBuffer.wrap(new byte[] {(byte) ('0' + i)}));
                    points.accept("before");
                    file.write(ByteBuffer.wrap(new byte[] {'.'}));
                    ChildJvm.say(i + " written");
                    points.accept("after");
                }
            }
        }
    }
}
