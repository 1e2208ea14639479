package io.holdfast.redis.graph;

import io.holdfast.redis.graph.Judgement.Judged;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;

/**
 * Mends what a verify found, while that verify is still on: so repair.lua can tell what has changed since, and leaves it
 * alone. A dry run does all but the writing. Counts are corrected before anything is removed.
 */
final class Repairer {

    /** What could lose data when anything is dropped. */
    private static final Set<Finding.Kind> URGENT = Set.of(Finding.Kind.UNDERCOUNT, Finding.Kind.UNCOUNTED);

    private static final int FIXES_BETWEEN_CALLS = 256;

    private final InspectionScripts scripts;
    private final boolean apply;
    private final GraphProgress progress;

    Repairer(InspectionScripts scripts, boolean apply, GraphProgress progress) {
        this.scripts = scripts;
        this.apply = apply;
        this.progress = progress;
    }

    RepairReport repair(VerifyReport report, List<Judged> judged, VerifySession session) {
        List<Finding> repaired = new ArrayList<>();
        List<Finding> left = new ArrayList<>();
        List<Finding> changed = new ArrayList<>();
        List<Judged> inOrder = judged.stream()
                .sorted(Comparator.comparing(it -> !URGENT.contains(it.finding().kind())))
                .toList();
        int done = 0;
        for (Judged it : inOrder) {
            if (it.fix() == null) {
                left.add(it.finding());
            } else if (!apply || fix(it.finding(), it.fix(), session.token())) {
                repaired.add(it.finding());
            } else {
                changed.add(it.finding());
            }
            if (++done % FIXES_BETWEEN_CALLS == 0) {
                session.stay();
            }
            progress.at("repair", done, inOrder.size());
        }
        return new RepairReport(report, apply, repaired, left, changed);
    }

    private boolean fix(Finding finding, Fix fix, String token) {
        String evidence = "verify: "
                + finding.kind().name().toLowerCase(java.util.Locale.ROOT).replace('_', ' ') + ", " + finding.detail();
        return scripts.repair(token, fix, evidence).equals("OK");
    }
}
