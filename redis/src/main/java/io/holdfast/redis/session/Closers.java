package io.holdfast.redis.session;

import io.holdfast.ReclaimReason;
import io.holdfast.redis.claim.ClaimRules;
import io.holdfast.redis.claim.ClaimRunner;
import io.holdfast.redis.claim.Job;
import io.holdfast.redis.hold.Claim;
import io.holdfast.redis.hold.Holds;
import io.holdfast.redis.hold.Settlement;
import io.holdfast.redis.hold.Settlement.Result;
import io.holdfast.redis.hold.Settlement.Verb;
import io.holdfast.redis.link.Client;
import java.util.List;
import java.util.function.Consumer;

/** Runs the application's close handler for what this instance has claimed. How, is told in {@link ClaimRunner}. */
final class Closers {

    private final Client client;
    private final Holds holds;
    private final SessionHandlers handlers;
    private final SessionFigures figures;
    final ClaimRunner runner;

    Closers(
            String name,
            Client client,
            Holds holds,
            SessionHandlers handlers,
            SessionFigures figures,
            SessionRules rules) {
        this.client = client;
        this.holds = holds;
        this.handlers = handlers;
        this.figures = figures;
        int places = handlers.onClose == null ? 0 : rules.closers();
        ClaimRules claimRules =
                new ClaimRules(rules.claim(), rules.handlerLimit(), rules.attempts(), rules.retryPause(), places);
        this.runner = new ClaimRunner(
                name, holds, claimRules, handlers.executor, client.time(), client.random(), this::settled);
    }

    void close(Claim claim) {
        Consumer<SessionClaim> onClose = handlers.onClose;
        if (onClose != null) {
            runner.start(List.of(claim), job -> run(job, onClose));
        }
    }

    private void run(Job job, Consumer<SessionClaim> onClose) {
        for (Claim claim : job.claims()) {
            try {
                onClose.accept(SessionClaim.of(claim));
            } catch (Throwable failure) {
                figures.failed.increment();
                job.failed(claim, failure);
                continue;
            }
            runner.succeeded();
            job.settle(Settlement.commit(claim));
        }
    }

    private void settled(Settlement settlement, Result result) {
        switch (result) {
            case DONE -> {
                if (settlement.verb() == Verb.COMMIT) {
                    figures.closed.increment();
                    tell(settlement.claim());
                }
            }
            case DEAD_LETTER -> figures.deadLetters.increment();
            case STALE, ALREADY -> figures.staleCommits.increment();
        }
    }

    private void tell(Claim claim) {
        if (!client.notices().isEmpty()) {
            client.notices().onReclaimed(holds.set().reclaimed(claim, ReclaimReason.CLOSED, client.self()));
        }
    }
}
