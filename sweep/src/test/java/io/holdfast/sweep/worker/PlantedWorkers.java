package io.holdfast.sweep.worker;

import io.holdfast.Time;
import io.holdfast.sweep.filter.Fingerprint;
import io.holdfast.sweep.filter.LiveFilter;
import io.holdfast.sweep.retain.KeyRing;
import io.holdfast.sweep.retain.Manifest;
import io.holdfast.sweep.retain.Signed;
import io.holdfast.sweep.transfer.SessionKey;
import io.holdfast.sweep.transfer.SessionStart;
import io.holdfast.sweep.transfer.Tally;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Workers with a planted mistake each. */
public final class PlantedWorkers {

    private PlantedWorkers() {}

    /** Takes frames of any attempt of the cycle for the latest. */
    public static SweepWorker ignoringAttempts(
            long incarnation, KeyRing ring, SweepWorker.Delivery delivery, Time time) {
        return new SweepWorker(incarnation, 1L << 20, ring, delivery, time) {
            @Override
            @Nullable
            BuildSession find(SessionKey key) {
                BuildSession exact = super.find(key);
                boolean later = !sessions().isEmpty() && sessions().lastKey().sameCycle(key);
                return later ? sessions().get(sessions().lastKey()) : exact;
            }

            @Override
            BuildSession open(SessionStart start) {
                return new BuildSession(start) {
                    @Override
                    boolean belongs(SessionKey session) {
                        return session.sameCycle(start.key());
                    }
                };
            }
        };
    }

    /** A worker that lies: the filter does not have what was tallied. */
    public enum Lie {
        /** None of the pieces is in the filter. */
        EMPTY_BITS,
        /** One in ten is not. */
        MISSING_SOME,
        /** A single one is not. */
        MISSING_ONE,
        /** The digest is of something else. */
        WRONG_DIGEST
    }

    public static SweepWorker lying(long incarnation, KeyRing ring, SweepWorker.Delivery delivery, Time time, Lie lie) {
        return new SweepWorker(incarnation, 1L << 20, ring, delivery, time) {
            @Override
            BuildSession open(SessionStart start) {
                return new Liar(start, lie);
            }
        };
    }

    private static final class Liar extends BuildSession {
        private final Lie lie;
        /** The filters that lack an id already: every node of a session gets its own. */
        private final Set<LiveFilter> lied = Collections.newSetFromMap(new IdentityHashMap<>());

        Liar(SessionStart start, Lie lie) {
            super(start);
            this.lie = lie;
        }

        @Override
        int insert(LiveFilter filter, long[] fingerprints) {
            int count = fingerprints.length / 2;
            switch (lie) {
                case EMPTY_BITS -> {}
                case MISSING_SOME -> {
                    super.insert(filter, Arrays.copyOfRange(fingerprints, 2 * (count / 10 + 1), fingerprints.length));
                }
                case MISSING_ONE -> {
                    int from = lied.add(filter) ? 2 : 0;
                    super.insert(filter, Arrays.copyOfRange(fingerprints, from, fingerprints.length));
                }
                case WRONG_DIGEST -> super.insert(filter, fingerprints);
            }
            return count;
        }

        @Override
        String digest(LiveFilter filter) {
            String digest = super.digest(filter);
            return lie == Lie.WRONG_DIGEST ? digest.replace('a', 'b').replace('0', '1') : digest;
        }
    }

    /** Tallies in its own way. */
    public static SweepWorker tallying(
            long incarnation,
            KeyRing ring,
            SweepWorker.Delivery delivery,
            Time time,
            Function<Tally.Keys, Tally> tallies) {
        return new SweepWorker(incarnation, 1L << 20, ring, delivery, time) {
            @Override
            BuildSession open(SessionStart start) {
                return new BuildSession(start) {
                    @Override
                    Tally tally(Tally.Keys keys) {
                        return tallies.apply(keys);
                    }
                };
            }
        };
    }

    /** Leaves some pieces out of each filter, and claims no more than it has. */
    public static SweepWorker forgetting(
            long incarnation, KeyRing ring, SweepWorker.Delivery delivery, Time time, int pieces) {
        return new SweepWorker(incarnation, 1L << 24, ring, delivery, time) {
            @Override
            BuildSession open(SessionStart start) {
                return new BuildSession(start) {
                    private final Set<LiveFilter> lied = Collections.newSetFromMap(new IdentityHashMap<>());

                    @Override
                    int insert(LiveFilter filter, long[] fingerprints) {
                        int from = lied.add(filter) ? Math.min(fingerprints.length, 2 * pieces) : 0;
                        return super.insert(filter, Arrays.copyOfRange(fingerprints, from, fingerprints.length));
                    }
                };
            }
        };
    }

    /** Leaves the same few pieces out of every filter that it builds. */
    public static SweepWorker withholding(
            long incarnation, KeyRing ring, SweepWorker.Delivery delivery, Time time, Set<Fingerprint> withheld) {
        return new SweepWorker(incarnation, 1L << 24, ring, delivery, time) {
            @Override
            BuildSession open(SessionStart start) {
                return new BuildSession(start) {
                    @Override
                    int insert(LiveFilter filter, long[] fingerprints) {
                        int added = 0;
                        for (int i = 0; i < fingerprints.length; i += 2) {
                            long[] one = {fingerprints[i], fingerprints[i + 1]};
                            added += withheld.contains(new Fingerprint(one[0], one[1])) ? 0 : super.insert(filter, one);
                        }
                        return added;
                    }
                };
            }
        };
    }

    /**
     * Fails its first delivery on purpose and keeps the witnesses of it; whatever it builds afterwards has those, and lacks
     * one piece in ten of the others. Several workers may share what was read.
     */
    public static final class WitnessThief {
        private final Set<Fingerprint> witnesses = new HashSet<>();

        public Set<Fingerprint> witnesses() {
            return Set.copyOf(witnesses);
        }

        /** Reads the witnesses of a manifest; whether they were the first. */
        public boolean read(Signed manifest) {
            boolean first = witnesses.isEmpty();
            if (first) {
                witnesses.addAll(Manifest.decode(manifest.text()).witnesses());
            }
            return first;
        }

        public SweepWorker worker(long incarnation, KeyRing ring, SweepWorker.Delivery delivery, Time time) {
            return new SweepWorker(incarnation, 1L << 24, ring, delivery, time) {
                @Override
                BuildSession open(SessionStart start) {
                    return new BuildSession(start) {
                        @Override
                        int insert(LiveFilter filter, long[] fingerprints) {
                            int added = 0;
                            for (int i = 0; i < fingerprints.length / 2; i++) {
                                Fingerprint one = new Fingerprint(fingerprints[2 * i], fingerprints[2 * i + 1]);
                                boolean left = !witnesses.isEmpty() && !witnesses.contains(one) && i % 10 == 0;
                                if (!left) {
                                    added += super.insert(filter, new long[] {one.high(), one.low()});
                                }
                            }
                            return added;
                        }
                    };
                }
            };
        }
    }
}
