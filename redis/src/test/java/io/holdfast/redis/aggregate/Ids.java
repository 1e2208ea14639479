package io.holdfast.redis.aggregate;

import java.util.ArrayList;
import java.util.List;

/** Which messages an aggregate is made of: adding one twice or never shows. */
record Ids(List<Long> ids) {

    static Ids of(long id) {
        return new Ids(List.of(id));
    }

    Ids merge(Ids other) {
        List<Long> all = new ArrayList<>(ids);
        all.addAll(other.ids);
        all.sort(null);
        return new Ids(all);
    }
}
