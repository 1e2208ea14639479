package io.holdfast.redis.aggregate;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * A message bus: ordered partitions that are read from a cursor and acknowledged up to a position, and a queue whose messages
 * are acknowledged one by one. What is not acknowledged is delivered again, to anybody.
 */
final class SimulatedBus {

    record Message(long id, String key) {}

    final List<List<Message>> partitions = new ArrayList<>();
    final int[] assigned;
    final int[] cursor;
    final long[] acknowledged;
    /** Queue messages that are not acknowledged, and who has them; -1 nobody. */
    final Map<Message, Integer> queue = new LinkedHashMap<>();

    final Map<Long, String> all = new HashMap<>();
    /** Messages that no bus delivers again. */
    final Set<Long> loose = new HashSet<>();

    final Set<Long> durable = new HashSet<>();
    /** Messages whose value cannot be encoded for now: they are refused, and may be delivered again. */
    final Set<Long> poisoned = new HashSet<>();
    /** Messages that a reader gave up after they were refused. */
    final Set<Long> skipped = new HashSet<>();
    /** Positions that were refused since the partition was assigned, of each partition. */
    final List<Set<Long>> refused = new ArrayList<>();

    private long next;

    SimulatedBus(int partitionCount) {
        assigned = new int[partitionCount];
        cursor = new int[partitionCount];
        acknowledged = new long[partitionCount];
        for (int i = 0; i < partitionCount; i++) {
            partitions.add(new ArrayList<>());
            refused.add(new TreeSet<>());
            assigned[i] = -1;
            acknowledged[i] = -1;
        }
    }

    Message make(String key) {
        Message message = new Message(++next, key);
        all.put(message.id(), key);
        return message;
    }

    /** A message that is refused until {@code poisoned} is cleared. */
    Message poisoned(String key) {
        Message message = make(key);
        poisoned.add(message.id());
        return message;
    }

    void died(int instance) {
        for (int i = 0; i < assigned.length; i++) {
            if (assigned[i] == instance) {
                assigned[i] = -1;
            }
        }
        queue.replaceAll((message, holder) -> holder == instance ? -1 : holder);
    }

    boolean isDone() {
        for (int i = 0; i < acknowledged.length; i++) {
            if (acknowledged[i] < partitions.get(i).size() - 1) {
                return false;
            }
        }
        return queue.isEmpty();
    }
}
