package io.holdfast.redis.aggregate;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;

/**
 * The protocol of the original's references, as its text and code have it: a list of nodes and cached payloads per key, a node
 * that caches its payload when its session ends and takes itself from the list, and the last one that writes its own record and
 * deletes the key, whether the database took it or not. The store is a map here: no call is ever lost, and it fails all the same.
 */
final class OriginalReferences {

    private record Reference(Set<Integer> nodes, Map<Integer, List<Long>> cached) {}

    private final RandomGenerator random;
    private final int instances;
    private final int keys;
    private final Map<String, Reference> store = new HashMap<>();
    private final List<Map<String, List<Long>>> local = new ArrayList<>();
    private final Map<Long, Integer> written = new HashMap<>();
    private long messages;

    OriginalReferences(RandomGenerator random, int instances, int keys) {
        this.random = random;
        this.instances = instances;
        this.keys = keys;
        for (int i = 0; i < instances; i++) {
            local.add(new HashMap<>());
        }
    }

    void run(int operations) {
        for (int i = 0; i < operations; i++) {
            int instance = random.nextInt(instances);
            String key = "k" + random.nextInt(keys);
            int dice = random.nextInt(100);
            if (dice < 60) {
                add(instance, key);
            } else if (dice < 95) {
                end(instance, key, random.nextInt(10) == 0);
                if (dice < 64) {
                    end(instance, key, false); // the call was repeated
                }
            } else {
                local.get(instance).clear(); // killed: what it held is gone, its name stays in the lists
            }
        }
        for (int instance = 0; instance < instances; instance++) {
            for (String key : Set.copyOf(local.get(instance).keySet())) {
                end(instance, key, false);
            }
        }
    }

    private void add(int instance, String key) {
        store.computeIfAbsent(key, it -> new Reference(new HashSet<>(), new HashMap<>()))
                .nodes()
                .add(instance);
        local.get(instance).computeIfAbsent(key, it -> new ArrayList<>()).add(++messages);
    }

    private void end(int instance, String key, boolean databaseIsDown) {
        Reference reference = store.get(key);
        List<Long> own = local.get(instance).getOrDefault(key, List.of());
        if (reference == null) {
            own.forEach(
                    id -> written.merge(id, 1, Integer::sum)); // nobody is in the list: it takes itself for the last
            return;
        }
        reference.nodes().remove(instance);
        if (reference.nodes().isEmpty()) {
            if (!databaseIsDown) {
                own.forEach(id -> written.merge(id, 1, Integer::sum));
            }
            store.remove(key);
        } else {
            reference.cached().put(instance, own);
            local.get(instance).remove(key);
        }
    }

    long lost() {
        return messages - written.size();
    }

    long twice() {
        return written.values().stream().filter(times -> times > 1).count();
    }

    long leftOpen() {
        return store.size();
    }
}
