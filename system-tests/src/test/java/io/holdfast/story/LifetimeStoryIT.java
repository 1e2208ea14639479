package io.holdfast.story;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.ManualTime;
import io.holdfast.ReclaimReason;
import io.holdfast.Why;
import io.holdfast.app.verify.SystemVerify;
import io.holdfast.app.why.Whys;
import io.holdfast.app.wiring.GraphCatalogue;
import io.holdfast.app.wiring.PieceLeaf;
import io.holdfast.app.wiring.SessionSnapshots;
import io.holdfast.redis.Holdfast;
import io.holdfast.redis.aggregate.AggregateSettings;
import io.holdfast.redis.aggregate.Aggregates;
import io.holdfast.redis.aggregate.AggregatesBuilder;
import io.holdfast.redis.aggregate.JdbcSink;
import io.holdfast.redis.graph.GraphWriter;
import io.holdfast.redis.graph.ValueGraph;
import io.holdfast.redis.graph.ValueId;
import io.holdfast.redis.session.Sessions;
import io.holdfast.redis.session.SessionsBuilder;
import io.holdfast.sweep.Sweep;
import io.holdfast.sweep.SweepReport;
import io.holdfast.sweep.SweepSettings;
import io.holdfast.sweep.node.NodeReport;
import io.holdfast.sweep.node.StorageNode;
import io.holdfast.sweep.node.Verdict;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.piece.PieceId;
import io.holdfast.testkit.ChildJvm;
import io.holdfast.testkit.RedisServer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The story of one document, through all parts: it is stored as values of a graph whose leaf names pieces on storage nodes,
 * read by two processes through one slab cache, owned by a session, and its edits are counted. Then the root moves on and the
 * session's instance is killed; the lease lapses, the session is closed and its snapshot released, the old values are
 * reclaimed, the edits of both instances are in the database, the next cycle's filter lacks the old pieces, the nodes trash them, and the cache no longer serves them. {@code why} is asked before and
 * after each step. Everything on Redis is done by a user with the rights that docs/operating.md names, and no more.
 */
class LifetimeStoryIT {

    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final Duration GRACE = Duration.ofMillis(500);
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final int DOCUMENTS = 24;
    private static final ValueId NOTHING = ValueId.parse("0".repeat(32));

    @TempDir
    Path folder;

    private final ManualTime days = new ManualTime();
    private final List<StorageNode> nodes = new ArrayList<>();
    private RedisServer redis;
    private String uri;
    private Holdfast holdfast;
    private ValueGraph docs;
    private GraphCatalogue catalogue;
    private Whys whys;

    /** The document that the story is about, as it was at first. */
    private Document old = new Document(NOTHING, NOTHING, List.of());

    private record Document(ValueId page, ValueId leaf, List<PieceLeaf.Piece> pieces) {}

    static SessionsBuilder sessions(Holdfast holdfast) {
        return holdfast.sessions("readers").lease(LEASE).grace(GRACE);
    }

    /** Edits of all instances, added up; an hour is the window, the story closes it. */
    static AggregatesBuilder<Edits> edits(Holdfast holdfast) {
        return holdfast.aggregates("edits", Edits.class, Edits::merge).set(AggregateSettings.LEASE, LEASE);
    }

    @BeforeEach
    void open() throws Exception {
        redis = RedisServer.setup()
                .user("holdfast", "secret", AccessRules.ofThePage().toArray(String[]::new))
                .start();
        uri = "redis://holdfast:secret@127.0.0.1:" + redis.port();
        holdfast = Holdfast.connect(uri);
        docs = holdfast.graph("docs");
        catalogue = GraphCatalogue.of(docs);
        // The pieces are stored five days before the values that name them are read: the nodes' clock is moved by hand.
        days.setWall(Instant.now().minus(Duration.ofDays(5)));
        for (String name : List.of("n1", "n2")) {
            nodes.add(StorageNode.at(folder.resolve(name), name).time(days).open());
        }
        whys = new Whys(holdfast).nodes(nodes).catalogue(catalogue);
    }

    @AfterEach
    void close() throws Exception {
        for (StorageNode node : nodes) {
            node.close();
        }
        holdfast.close();
        redis.close();
    }

    @Test
    void aDocumentLivesExactlyAsLongAsSomethingHoldsIt() throws Exception {
        storeDocuments();
        days.advance(Duration.ofDays(5));
        theFirstCycleIsADryRunAndFindsNoGarbage();
        String slab = folder.resolve("values.slab").toString();
        try (HikariDataSource database = database();
                Aggregates<Edits> edits =
                        edits(holdfast).sink(JdbcSink.to(database)).start();
                Sessions closer = sessions(holdfast)
                        .onClose(new SessionSnapshots(holdfast, "readers", "docs")::release)
                        .start();
                ChildJvm first =
                        ChildJvm.of(ReaderJvm.class).arguments(uri, slab).start();
                ChildJvm second =
                        ChildJvm.of(ReaderJvm.class).arguments(uri, slab).start();
                ChildJvm owner =
                        ChildJvm.of(SessionJvm.class).arguments(uri, "ada").start()) {
            assertThat(closer.count("ada")).isEqualTo(1);
            twoProcessesReadThroughOneCache(first, second);
            theRootMovesOnAndTheSessionKeepsTheOldDocument();
            theEditIsCounted(edits);
            theSessionsInstanceIsKilledAndItsLeaseLapses(owner);
            theOldValuesAreReclaimed();
            theEditsOfBothAreInTheDatabaseOnce(edits, database);
            theNextCycleTrashesTheirPieces();
            theCacheNoLongerServesThem(first);
        }
        List<SystemVerify.Part> parts = new SystemVerify(uri, (phase, done, total) -> {})
                .everythingOnRedis()
                .parts();
        assertThat(parts)
                .hasSize(3)
                .allSatisfy(part -> assertThat(part.isSound()).as("%s", part).isTrue());
    }

    private void storeDocuments() throws Exception {
        assertThat(whys.ask("root:docs/main")).isInstanceOf(Why.Unknown.class);
        try (GraphWriter writer = docs.writer()) {
            List<ValueId> pages = new ArrayList<>();
            for (int i = 0; i < DOCUMENTS; i++) {
                Document document = store(writer, "document " + i + ", first edition");
                pages.add(document.page());
                old = i == 7 ? document : old;
            }
            docs.root("main").set(writer.put(text("index"), pages));
        }
        assertThat(alive("root:docs/main").chain()).isEmpty();
        assertThat(holders("value:docs/" + old.leaf())).first().isEqualTo("value:docs/" + old.page());
        assertThat(holders("value:docs/" + old.leaf())).last().isEqualTo("root:docs/main");
        assertThat(holders(oldPiece(0))).startsWith("value:docs/" + old.leaf()).endsWith("root:docs/main");
    }

    /** A page with one leaf, which names a piece on each node. */
    private Document store(GraphWriter writer, String content) throws Exception {
        List<PieceLeaf.Piece> pieces = new ArrayList<>();
        for (StorageNode node : nodes) {
            PieceId id = pieceId(content + " on " + node.id());
            node.put(catalogue.owner(), id, new ByteArrayInputStream(text(content)));
            pieces.add(new PieceLeaf.Piece(node.id(), id));
        }
        ValueId leaf = writer.put(PieceLeaf.of(pieces));
        return new Document(writer.put(text(content), leaf), leaf, pieces);
    }

    private void theFirstCycleIsADryRunAndFindsNoGarbage() {
        SweepReport report = sweep().plan().report();
        assertThat(report.nodes()).extracting(NodeReport::verdict).containsOnly(Verdict.FIRST_CYCLE);
        assertThat(report.examined()).isEqualTo(2L * DOCUMENTS);
        assertThat(report.wouldTrash()).isZero();
    }

    private void twoProcessesReadThroughOneCache(ChildJvm first, ChildJvm second) {
        int values = 1 + 2 * DOCUMENTS;
        first.send("read");
        assertThat(first.readLine()).isEqualTo("read " + values + " values, 0 hits, " + 2 * values + " misses");
        second.send("read");
        assertThat(second.readLine()).isEqualTo("read " + values + " values, " + 2 * values + " hits, 0 misses");
        first.send("get " + old.leaf());
        assertThat(first.readLine()).startsWith("served");
    }

    private void theRootMovesOnAndTheSessionKeepsTheOldDocument() throws Exception {
        Why.Alive session = alive("session:readers/ada");
        assertThat(session.chain()).singleElement().satisfies(holder -> {
            assertThat(holder.name()).startsWith("reader-instance#");
            assertThat(holder.deadline()).isPresent();
        });
        try (GraphWriter writer = docs.writer()) {
            List<ValueId> pages =
                    new ArrayList<>(docs.children(docs.root("main").target().orElseThrow()));
            pages.set(7, store(writer, "document 7, second edition").page());
            docs.root("main").set(writer.put(text("index"), pages));
        }
        List<String> chain = holders("value:docs/" + old.leaf());
        assertThat(chain.getLast()).startsWith("root:docs/session:readers/").endsWith("/ada");
        assertThat(holders(oldPiece(0)).getLast()).isEqualTo(chain.getLast());
        SweepReport report = sweep().plan().trash();
        assertThat(report.nodes()).extracting(NodeReport::verdict).containsOnly(Verdict.READY);
        assertThat(report.trashed()).isZero();
    }

    private void theEditIsCounted(Aggregates<Edits> edits) throws Exception {
        edits.add("document 7", new Edits(1));
        edits.publish();
        Why.Alive aggregate = alive("aggregate:edits/document 7");
        assertThat(aggregate.chain())
                .hasSize(2)
                .allSatisfy(holder -> assertThat(holder.deadline()).isPresent());
    }

    private void theEditsOfBothAreInTheDatabaseOnce(Aggregates<Edits> edits, DataSource database) throws Exception {
        edits.forceEnd("document 7");
        await().atMost(PATIENCE).until(() -> whys.ask("aggregate:edits/document 7") instanceof Why.Gone);
        assertThat(gone("aggregate:edits/document 7").record().reason()).isEqualTo(ReclaimReason.FLUSHED);
        try (Connection connection = database.getConnection();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select edits, parts from holdfast_edits")) {
            assertThat(rows.next()).isTrue();
            assertThat(rows.getLong("edits")).isEqualTo(4);
            assertThat(rows.getLong("parts")).isEqualTo(2);
            assertThat(rows.next()).isFalse();
        }
    }

    private HikariDataSource database() {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:h2:file:" + folder.resolve("database"));
        config.setMaximumPoolSize(2);
        return new HikariDataSource(config);
    }

    private void theSessionsInstanceIsKilledAndItsLeaseLapses(ChildJvm owner) throws Exception {
        owner.kill();
        assertThat(whys.ask("session:readers/ada")).isInstanceOf(Why.Alive.class);
        await().atMost(PATIENCE).until(() -> whys.ask("session:readers/ada") instanceof Why.Gone);
        Why.Gone session = gone("session:readers/ada");
        assertThat(session.record().reason()).isEqualTo(ReclaimReason.CLOSED);
        assertThat(session.record().evidence()).contains("reader-instance");
    }

    private void theOldValuesAreReclaimed() throws Exception {
        await().atMost(PATIENCE).until(() -> whys.ask("value:docs/" + old.leaf()) instanceof Why.Gone);
        Why.Gone leaf = gone("value:docs/" + old.leaf());
        assertThat(leaf.record().reason()).isEqualTo(ReclaimReason.RELEASED);
        assertThat(leaf.record().evidence()).contains("session:readers/");
        assertThat(docs.find(old.leaf())).isEmpty();
        assertThat(docs.inspect().statistics().values()).isEqualTo(1 + 2L * DOCUMENTS);
    }

    private void theNextCycleTrashesTheirPieces() throws Exception {
        for (int i = 0; i < nodes.size(); i++) {
            assertThat(whys.ask(oldPiece(i))).isInstanceOf(Why.Doomed.class);
        }
        // One in ten thousand passes a filter by chance, and falls to the next cycle, whose filter has another seed.
        await().atMost(PATIENCE).until(() -> {
            sweep().plan().trash();
            return whys.ask(oldPiece(0)) instanceof Why.Gone && whys.ask(oldPiece(1)) instanceof Why.Gone;
        });
        for (int i = 0; i < nodes.size(); i++) {
            assertThat(gone(oldPiece(i)).record().reason()).isEqualTo(ReclaimReason.SWEPT);
            assertThat(count(nodes.get(i), catalogue.owner())).isEqualTo(DOCUMENTS);
        }
    }

    private void theCacheNoLongerServesThem(ChildJvm reader) throws Exception {
        reader.send("get " + old.leaf());
        assertThat(reader.readLine()).isEqualTo("refused: GONE");
        reader.send("read");
        assertThat(reader.readLine()).startsWith("read " + (1 + 2 * DOCUMENTS) + " values");
        assertThat(holders("piece:n1/" + pieceId("document 7, second edition on n1")))
                .endsWith("root:docs/main");
    }

    private Sweep sweep() {
        return Sweep.of(catalogue).nodes(nodes).time(days).set(SweepSettings.FALSE_POSITIVES, "0.0001");
    }

    private String oldPiece(int number) {
        PieceLeaf.Piece piece = old.pieces().get(number);
        return "piece:" + piece.node() + "/" + piece.id();
    }

    private Why.Alive alive(String thing) throws Exception {
        Why why = whys.ask(thing);
        assertThat(why).as("%s", why).isInstanceOf(Why.Alive.class);
        return (Why.Alive) why;
    }

    private Why.Gone gone(String thing) throws Exception {
        Why why = whys.ask(thing);
        assertThat(why).as("%s", why).isInstanceOf(Why.Gone.class);
        return (Why.Gone) why;
    }

    private List<String> holders(String thing) throws Exception {
        return alive(thing).chain().stream().map(Why.Holder::name).toList();
    }

    private static long count(StorageNode node, OwnerId owner) throws IOException {
        long[] pieces = new long[1];
        node.list(owner, new io.holdfast.sweep.node.PieceStore.Visitor() {
            @Override
            public void piece(byte[] id) {
                pieces[0]++;
            }

            @Override
            public void unknown(String name) {
                throw new AssertionError(name);
            }
        });
        return pieces[0];
    }

    private static PieceId pieceId(String content) {
        try {
            return PieceId.of(MessageDigest.getInstance("SHA-256").digest(text(content)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    private static byte[] text(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
