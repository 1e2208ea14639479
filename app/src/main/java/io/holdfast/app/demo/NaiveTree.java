package io.holdfast.app.demo;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.holdfast.redis.link.Keyspace;
import io.holdfast.redis.link.RedisLink;
import io.holdfast.redis.link.Script;
import java.util.List;

/** A counted tree as one would write it oneself: a key a node, and one script that drops all of it. */
final class NaiveTree {

    private static final Script BUILD =
            Script.load(NaiveTree.class, "naive-build.lua", "tree", "from to fan last", "status");
    private static final Script DROP = Script.load(NaiveTree.class, "naive-drop.lua", "tree", "node", "freed");
    private static final Script COUNT = Script.load(NaiveTree.class, "naive-count.lua", "count", "by", "count");
    private static final int NODES_A_CALL = 500;

    private final RedisLink link;
    private final byte[] key = new Keyspace("demo", "naive", 0).key("tree");

    NaiveTree(RedisLink link) {
        this.link = link;
    }

    void build(int nodes, int fan) {
        for (int from = 0; from < nodes; from += NODES_A_CALL) {
            int to = Math.min(nodes, from + NODES_A_CALL) - 1;
            link.call(BUILD, List.of(key), List.of(text(from), text(to), text(fan), text(nodes - 1)));
        }
    }

    long drop() {
        return link.call(DROP, List.of(key), List.of(text(0))).number(0);
    }

    /** A counter of instances, the other thing that one would write oneself. */
    static long count(RedisLink link, String session, int by) {
        byte[] counter = new Keyspace("demo", "naive", 0).key(session);
        return link.call(COUNT, List.of(counter), List.of(text(by))).number(0);
    }

    private static byte[] text(int number) {
        return Integer.toString(number).getBytes(US_ASCII);
    }
}
