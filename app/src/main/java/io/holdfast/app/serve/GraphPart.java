package io.holdfast.app.serve;

import io.holdfast.redis.graph.GraphMeters;
import io.holdfast.redis.graph.GraphStatistics;
import io.holdfast.redis.graph.ValueGraph;
import org.jspecify.annotations.Nullable;

/** Reclaims what nobody holds in one graph. */
final class GraphPart extends Part {

    private final String graphName;
    private final RedisPart redis;
    private final DaemonMeters meters;
    private @Nullable ValueGraph graph;

    GraphPart(String graphName, RedisPart redis, DaemonMeters meters) {
        super("graph " + graphName);
        this.graphName = graphName;
        this.redis = redis;
        this.meters = meters;
    }

    @Override
    void start() {
        ValueGraph opened = redis.client().graph(graphName);
        meters.bind(new GraphMeters(opened));
        graph = opened;
    }

    @Override
    String look() {
        ValueGraph open = redis.client().graph(graphName);
        if (!open.equals(graph)) {
            graph = open;
        }
        GraphStatistics now = open.inspect().statistics();
        return now.values() + " values, " + now.roots() + " roots, " + now.leases() + " leases, " + now.doomed()
                + " doomed";
    }

    @Override
    void stop() {
        closeQuietly(graph);
    }
}
