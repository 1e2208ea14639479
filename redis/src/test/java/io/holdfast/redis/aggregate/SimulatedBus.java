package io.holdfast.redis.aggregate;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

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
    private long next;

    SimulatedBus(int partitionCount) {
        assigned = new int[partitionCount];
        cursor = new int[partitionCount];
        acknowledged = new long[partitionCount];
        for (int i = 0; i < partitionCount; i++) {
            partitions.add(new ArrayList<>());
            assigned[i] = -1;
            acknowledged[i] = -1;
        }
    }

    Message make(String key) {
        Message message = new Message(++next, key);
        all.put(message.id(), key);
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
