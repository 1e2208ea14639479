package io.holdfast.redis.link;

import io.holdfast.ReclaimListener;
import io.holdfast.Reclaimed;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Tells the listeners of this process what was reclaimed by it. */
public final class Notices implements ReclaimListener {

    private static final System.Logger LOG = System.getLogger(Notices.class.getName());

    private final List<ReclaimListener> listeners = new CopyOnWriteArrayList<>();

    public void add(ReclaimListener listener) {
        listeners.add(listener);
    }

    public void remove(ReclaimListener listener) {
        listeners.remove(listener);
    }

    /** Whether anybody listens; building a notice for nobody is work for nothing. */
    public boolean isEmpty() {
        return listeners.isEmpty();
    }

    @Override
    public void onReclaimed(Reclaimed reclaimed) {
        for (ReclaimListener listener : listeners) {
            try {
                listener.onReclaimed(reclaimed);
            } catch (RuntimeException e) {
                LOG.log(Level.WARNING, "a reclaim listener failed", e);
            }
        }
    }
}
