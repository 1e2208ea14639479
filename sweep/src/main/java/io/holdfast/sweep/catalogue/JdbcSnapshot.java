package io.holdfast.sweep.catalogue;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import io.holdfast.sweep.catalogue.JdbcCatalogue.NodeNames;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.PieceId;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The frozen view of a {@link JdbcCatalogue}. Calls over the one connection take turns. */
final class JdbcSnapshot implements Catalogue.Snapshot {

    private static final System.Logger LOG = System.getLogger(JdbcSnapshot.class.getName());

    /** With more nodes than this, the rows of all are read and the others left. */
    private static final int NODES_NAMED_MOST = 1_000;

    private static final int IDS_NAMED_MOST = 500;

    private final JdbcCatalogue catalogue;
    private final Connection connection;
    private final String shared;
    private final Instant takenAt;
    private final String incarnation;
    private final Map<NodeId, Long> counts = new LinkedHashMap<>();
    /** First node of each range but the first, in the database's order. */
    private final List<String> borders = new ArrayList<>();

    JdbcSnapshot(JdbcCatalogue catalogue, Connection connection, String shared, Instant takenAt, String incarnation)
            throws SQLException {
        this.catalogue = catalogue;
        this.connection = connection;
        this.shared = shared;
        this.takenAt = takenAt;
        this.incarnation = incarnation;
        count();
    }

    private void count() throws SQLException {
        NodeNames names = new NodeNames();
        List<String> order = new ArrayList<>();
        long total = 0;
        String sql = "select q.node, count(*) from (" + catalogue.query() + ") q group by q.node order by q.node";
        try (PreparedStatement statement = connection.prepareStatement(sql);
                ResultSet rows = statement.executeQuery()) {
            while (rows.next()) {
                String node = rows.getString(1);
                if (node == null) {
                    throw new HoldfastException(
                            Category.CORRUPT,
                            "the catalogue has " + rows.getLong(2) + " pieces without a node",
                            "correct the query; nothing was trashed",
                            null);
                }
                counts.put(names.of(node), rows.getLong(2));
                order.add(node);
                total += rows.getLong(2);
            }
        }
        if (!shared.isEmpty()) {
            cut(order, total);
        }
    }

    private void cut(List<String> order, long total) {
        long share = Math.max(1, total / catalogue.rangesWanted());
        long sum = 0;
        for (String node : order) {
            if (sum >= share * (borders.size() + 1)) {
                borders.add(node);
            }
            sum += counts.getOrDefault(new NodeId(node), 0L);
        }
    }

    @Override
    public Instant takenAt() {
        return takenAt;
    }

    @Override
    public String incarnation() {
        return incarnation;
    }

    @Override
    public int ranges() {
        return borders.size() + 1;
    }

    @Override
    public Optional<Map<NodeId, Long>> counts() {
        return Optional.of(Map.copyOf(counts));
    }

    @Override
    public void scan(int range, Catalogue.PieceSink sink) throws Exception {
        scan(range, List.of(), sink);
    }

    /** Asks the database for some nodes alone, unless they are so many that a scan is cheaper. */
    @Override
    public void scan(int range, Set<NodeId> nodes, Catalogue.PieceSink sink) throws Exception {
        if (nodes.isEmpty()) {
            return;
        }
        List<String> names = nodes.stream().map(NodeId::name).sorted().toList();
        Catalogue.PieceSink wanted = (node, id, created) -> {
            if (nodes.contains(node)) {
                sink.piece(node, id, created);
            }
        };
        scan(range, names.size() <= NODES_NAMED_MOST ? names : List.of(), wanted);
    }

    private void scan(int range, List<String> only, Catalogue.PieceSink sink) throws Exception {
        if (shared.isEmpty()) {
            synchronized (connection) {
                scan(connection, range, only, sink);
            }
            return;
        }
        Connection own = catalogue.join(shared);
        try {
            scan(own, range, only, sink);
        } finally {
            giveBack(own);
        }
    }

    private void scan(Connection on, int range, List<String> only, Catalogue.PieceSink sink) throws Exception {
        List<String> conditions = new ArrayList<>();
        List<String> values = new ArrayList<>();
        if (range > 0) {
            conditions.add("q.node >= ?");
            values.add(borders.get(range - 1));
        }
        if (range < borders.size()) {
            conditions.add("q.node < ?");
            values.add(borders.get(range));
        }
        if (!only.isEmpty()) {
            conditions.add("q.node in (" + String.join(", ", Collections.nCopies(only.size(), "?")) + ")");
            values.addAll(only);
        }
        String where = conditions.isEmpty() ? "" : " where " + String.join(" and ", conditions);
        String sql = "select q.node, q.id, q.created from (" + catalogue.query() + ") q" + where;
        NodeNames names = new NodeNames();
        try (PreparedStatement statement = on.prepareStatement(sql)) {
            statement.setFetchSize(JdbcCatalogue.FETCH_ROWS);
            for (int i = 0; i < values.size(); i++) {
                statement.setString(i + 1, values.get(i));
            }
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    catalogue.hand(rows, names, sink);
                }
            }
        }
    }

    /** Looks the pieces up, some hundred at a time. An id that is none in this catalogue's form is not in it. */
    @Override
    public Map<NodeId, Set<PieceId>> known(Map<NodeId, Set<PieceId>> asked) throws SQLException {
        Map<NodeId, Set<PieceId>> known = new HashMap<>();
        for (Map.Entry<NodeId, Set<PieceId>> node : asked.entrySet()) {
            List<byte[]> ids = node.getValue().stream()
                    .map(PieceId::bytes)
                    .filter(catalogue.idForm()::has)
                    .toList();
            for (int from = 0; from < ids.size(); from += IDS_NAMED_MOST) {
                List<byte[]> some = ids.subList(from, Math.min(ids.size(), from + IDS_NAMED_MOST));
                Set<PieceId> here = known(node.getKey(), some);
                if (!here.isEmpty()) {
                    known.computeIfAbsent(node.getKey(), n -> new HashSet<>()).addAll(here);
                }
            }
        }
        return known;
    }

    private Set<PieceId> known(NodeId node, List<byte[]> ids) throws SQLException {
        IdForm form = catalogue.idForm();
        String mark = form == IdForm.UUID ? "cast(? as uuid)" : "?";
        String sql = "select q.id from (" + catalogue.query() + ") q where q.node = ? and q.id in ("
                + String.join(", ", Collections.nCopies(ids.size(), mark)) + ")";
        Set<PieceId> known = new HashSet<>();
        synchronized (connection) {
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                statement.setString(1, node.name());
                int at = 2;
                for (byte[] id : ids) {
                    if (form == IdForm.BYTES) {
                        statement.setBytes(at++, id);
                    } else {
                        statement.setString(at++, form.encode(id));
                    }
                }
                try (ResultSet rows = statement.executeQuery()) {
                    while (rows.next()) {
                        byte[] id = catalogue.id(rows, 1);
                        if (id != null) {
                            known.add(PieceId.of(id));
                        }
                    }
                }
            }
        }
        return known;
    }

    /** The transaction that keeps the snapshot still answers, and was not replaced by another one under the hood. */
    @Override
    public void check() throws SQLException {
        synchronized (connection) {
            if (connection.getAutoCommit()) {
                throw new HoldfastException(Category.CORRUPT, "the snapshot's transaction has ended");
            }
            try (PreparedStatement statement = connection.prepareStatement("select 1");
                    ResultSet row = statement.executeQuery()) {
                row.next();
            }
        }
    }

    @Override
    public void close() {
        synchronized (connection) {
            giveBack(connection);
        }
    }

    /** Ends the transaction and leaves the connection as a pool expects it. */
    static void giveBack(Connection connection) {
        try (connection) {
            connection.rollback();
            connection.setAutoCommit(true);
            connection.setReadOnly(false);
        } catch (SQLException e) {
            LOG.log(Level.DEBUG, "a catalogue connection did not close cleanly", e);
        }
    }
}
