package io.holdfast.redis.graph;

import static io.holdfast.redis.graph.ValueGraphIT.bytes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.testkit.FaultProxy;
import io.holdfast.testkit.SharedRedis;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.CommandObject;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.executors.CommandExecutor;

/** A large value takes many calls, any of which may not be answered: then it is put once more; and so with a batch. */
class UnansweredPutsIT {

    @RegisterExtension
    static final SharedRedis server = SharedRedis.plain();

    private Jedis redis;
    private FaultProxy proxy;
    private GraphFixture fixture;
    private ValueGraph graph;
    private GraphWriter writer;

    @BeforeEach
    void open() {
        redis = server.client();
        proxy = FaultProxy.to(server.server());
        fixture = new GraphFixture(
                proxy.uri().toString(), GraphFixture.with(GraphSettings.ADDRESSING, Addressing.CONTENT));
        graph = fixture.graph;
        writer = graph.writer();
        // From here on every call of a script is one request: the server has them all.
        writer.put(new byte[GraphWriter.BATCH_BYTES + 1]);
        writer.put(bytes("small"));
        writer.flush();
    }

    @AfterEach
    void close() {
        fixture.close();
        proxy.close();
        redis.close();
    }

    @Test
    void chunkOfChildrenThatOthersHoldCountsOnce() {
        List<ValueId> children = new ArrayList<>();
        try (GraphWriter other = graph.writer()) {
            for (int i = 0; i < 300; i++) {
                children.add(other.put(bytes("child " + i)));
            }
            graph.root("half").set(other.put(bytes("half"), children.subList(0, 150)));
            graph.root("rest").set(other.put(bytes("rest"), children.subList(150, 300)));
        }
        putWithoutAnAnswerTo(2, children);
        graph.root("main").set(writer.put(bytes("large"), children));
        assertThat(graph.inspect().verify((phase, done, total) -> {}).isSound()).isTrue();
        assertNothingIsLeftAfterDropping("main", "half", "rest");
    }

    @Test
    void chunkOfChildrenThatTheWriterHandedOverIsNotGone() {
        List<ValueId> children = new ArrayList<>();
        for (int i = 0; i < 600; i++) {
            children.add(writer.put(bytes("child " + i)));
        }
        writer.flush();
        putWithoutAnAnswerTo(3, children);
        graph.root("main").set(writer.put(bytes("large"), children));
        assertNothingIsLeftAfterDropping("main");
    }

    @Test
    void sealThatIsNotAnsweredIsAsGoodAsOneThatIs() {
        List<ValueId> children = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            children.add(writer.put(bytes("child " + i)));
        }
        writer.flush();
        putWithoutAnAnswerTo(4, children);
        graph.root("main").set(writer.put(bytes("large"), children));
        assertNothingIsLeftAfterDropping("main");
    }

    /** The number of the call that was not answered is used up: another batch under it would pass for a repeat. */
    @Test
    void batchAfterAHoldOnALargeValueThatIsThereWasNotAnsweredIsWritten() {
        byte[] large = new byte[300_000];
        try (GraphWriter other = graph.writer()) {
            graph.root("main").set(other.put(large));
        }
        proxy.dropReply("EVALSHA", 2); // the first chunk is told that the value exists; then it is held
        assertThat(catchThrowableOfType(HoldfastException.class, () -> writer.put(large)))
                .extracting(HoldfastException::category)
                .isEqualTo(Category.RETRY);
        ValueId next = writer.put(bytes("next"));
        writer.flush();
        assertThat(graph.find(next)).contains(bytes("next"));
        writer.put(large);
        assertNothingIsLeftAfterDropping("main");
    }

    /** Were the next value put into the batch first, the whole would pass for a repeat and that value be lost. */
    @Test
    void batchThatWasNotAnsweredIsSentAsItWasBeforeAnythingIsAddedToIt() {
        Map<String, byte[]> kinds = Map.of("EVALSHA", bytes("first"), "EXEC", new byte[PutRequest.FEW_BYTES + 1]);
        kinds.forEach((command, value) -> {
            ValueId first = writer.put(value);
            proxy.dropReply(command, 1);
            assertThat(catchThrowableOfType(HoldfastException.class, writer::flush))
                    .extracting(HoldfastException::category)
                    .isEqualTo(Category.RETRY);
            ValueId second = writer.put(bytes("second"));
            writer.flush();
            assertThat(graph.findAll(List.of(first, second))).as(command).hasSize(2);
        });
    }

    /** What the store has already is held as well; where nobody heard that it has it, that is asked again. */
    @Test
    void batchIsPutWhenTheAnswerThatSomeOfItExistsWasLost() {
        try (GraphWriter other = graph.writer()) {
            graph.root("main").set(other.put(bytes("parent"), other.put(bytes("child"))));
        }
        writer.put(bytes("new"), writer.put(bytes("parent"), writer.put(bytes("child"))));
        proxy.dropReply("EVALSHA", 1);
        assertThat(catchThrowableOfType(HoldfastException.class, writer::flush))
                .extracting(HoldfastException::category)
                .isEqualTo(Category.RETRY);
        writer.flush();
        assertThat(graph.inspect().verify((phase, done, total) -> {}).isSound()).isTrue();
        assertNothingIsLeftAfterDropping("main");
    }

    /**
     * Refused as a value of it existed; when that has gone, the refused call arrives once more. Were it done, the writer would
     * believe that it still holds the child, and be told that it is gone when it hands it over.
     */
    @Test
    void batchThatWasRefusedForWhatExistedAndArrivesLateDoesNothing() {
        GraphWriter late = graph.writer();
        ValueId child = late.put(bytes("child"));
        late.flush();
        ValueId parent;
        try (GraphWriter other = graph.writer()) {
            parent = other.put(bytes("parent"), child);
            graph.root("main").set(parent);
        }
        PutRequest refused = PutRequest.of(
                Map.of(parent, new GraphWriter.Pending(bytes("parent"), List.of(child))), Set.of(), Set.of(child));
        assertThat(graph.scripts().put(late.lease(), 2, refused).status()).isEqualTo("EXISTS");
        assertThat(graph.scripts().put(late.lease(), 2, refused).status())
                .as("repeated")
                .isEqualTo("AGAIN");
        graph.root("main").drop();
        fixture.drain();
        assertThat(graph.find(parent)).isEmpty();
        assertThat(graph.scripts().put(late.lease(), 2, refused).status())
                .as("late")
                .isEqualTo("AGAIN");
        assertThat(graph.find(parent)).isEmpty();
        assertThat(graph.scripts().put(late.lease(), 3, refused).status())
                .as("anew")
                .isEqualTo("OK");
        assertThat(graph.children(parent)).containsExactly(child);
        assertNothingIsLeftAfterDropping();
    }

    /** A client of a cluster repeats a command by itself when the connection breaks before its answer. */
    @Test
    void holdOnALargeValueThatHasGoneAndIsRefusedTwiceDoesNotEndTheWriter() {
        byte[] large = new byte[300_000];
        try (GraphWriter other = graph.writer()) {
            graph.root("main").set(other.put(large));
        }
        AtomicInteger scripts = new AtomicInteger(-1_000);
        HostAndPort address = new HostAndPort("127.0.0.1", server.server().port());
        try (RedisClient real = RedisClient.builder().hostAndPort(address).build()) {
            CommandExecutor repeating = new CommandExecutor() {
                @Override
                public <T> T executeCommand(CommandObject<T> command) {
                    boolean isScript = command.getArguments().getCommand().equals(Protocol.Command.EVALSHA);
                    if (isScript && scripts.incrementAndGet() == 2) { // told that it exists, it is to be held now
                        graph.root("main").drop();
                        fixture.drain();
                        assertThat((Object) real.executeCommand(command)).isNotNull();
                    }
                    return real.executeCommand(command);
                }

                @Override
                public void close() {}
            };
            UnifiedJedis jedis = RedisClient.builder()
                    .hostAndPort(address)
                    .commandExecutor(repeating)
                    .build();
            try (GraphFixture own = new GraphFixture(jedis, fixture.settings);
                    GraphWriter ownWriter = own.graph.writer()) {
                ownWriter.put(bytes("something"));
                ownWriter.flush();
                scripts.set(0);
                assertThat(own.graph.find(ownWriter.put(large))).isPresent();
            }
        }
    }

    private void putWithoutAnAnswerTo(int call, List<ValueId> children) {
        proxy.dropReply("EVALSHA", call);
        assertThat(catchThrowableOfType(HoldfastException.class, () -> writer.put(bytes("large"), children)))
                .extracting(HoldfastException::category)
                .isEqualTo(Category.RETRY);
    }

    private void assertNothingIsLeftAfterDropping(String... roots) {
        writer.close();
        for (String root : roots) {
            assertThat(graph.root(root).drop()).isTrue();
        }
        GraphFixture.lapseAll(redis);
        fixture.drain();
        assertThat(GraphFixture.parts(redis))
                .allSatisfy((part, size) -> assertThat(size).as(part).isZero());
        assertThat(redis.hmget(GraphFixture.key("meta"), bytes("edges"), bytes("chunks"), bytes("large")))
                .containsOnly(bytes("0"));
    }
}
