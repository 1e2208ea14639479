package io.holdfast;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.holdfast.Duty.Step;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class DutyRunnerTest {

    private final ManualTime time = new ManualTime();
    private final DutyRunner manual = DutyRunner.manual(time);

    @Test
    void firstStepIsDueAtOnceAndTheNextWhenWished() {
        AtomicInteger steps = new AtomicInteger();
        manual.add(duty("every minute", () -> Step.restFor(steps.incrementAndGet(), Duration.ofMinutes(1))));

        assertThat(manual.runDue()).isEqualTo(1);
        assertThat(manual.runDue()).isZero();
        time.advance(Duration.ofSeconds(59));
        assertThat(manual.runDue()).isZero();
        time.advance(Duration.ofSeconds(1));
        assertThat(manual.runDue()).isEqualTo(1);
        assertThat(steps).hasValue(2);
    }

    @Test
    void untilNextIsTheEarliestWishOfAll() {
        assertThat(manual.untilNext()).isEmpty();
        manual.add(duty("slow", () -> Step.restFor(0, Duration.ofHours(1))));
        manual.add(duty("fast", () -> Step.restFor(0, Duration.ofSeconds(5))));
        manual.runDue();
        assertThat(manual.untilNext()).contains(Duration.ofSeconds(5));
    }

    @Test
    void wakeRunsADutyEarlyAndNeverLater() {
        AtomicInteger steps = new AtomicInteger();
        DutyRunner.Assignment duty =
                manual.add(duty("hourly", () -> Step.restFor(steps.incrementAndGet(), Duration.ofHours(1))));
        manual.runDue();

        duty.wakeIn(Duration.ofHours(2));
        assertThat(manual.untilNext()).contains(Duration.ofHours(1));
        duty.wakeIn(Duration.ofMinutes(1));
        assertThat(manual.untilNext()).contains(Duration.ofMinutes(1));
        duty.wake();
        assertThat(manual.runDue()).isEqualTo(1);
        assertThat(steps).hasValue(2);
    }

    @Test
    void wakeDuringAStepIsNotLost() {
        AtomicReference<DutyRunner.Assignment> self = new AtomicReference<>();
        AtomicInteger steps = new AtomicInteger();
        self.set(manual.add(duty("wakes itself", () -> {
            if (steps.incrementAndGet() == 1) {
                self.get().wake();
            }
            return Step.restFor(0, Duration.ofHours(1));
        })));
        manual.runDue();
        assertThat(manual.runDue()).isEqualTo(1);
        assertThat(manual.runDue()).isZero();
    }

    @Test
    void exceptionBacksOffAndNeverKillsTheDuty() {
        AtomicInteger steps = new AtomicInteger();
        manual.add(duty("fails twice", () -> {
            if (steps.incrementAndGet() <= 2) {
                throw new IllegalStateException("planted");
            }
            return Step.restFor(0, Duration.ofHours(1));
        }));
        manual.runDue();
        assertThat(manual.untilNext()).contains(Duration.ofMillis(100));
        time.advance(Duration.ofMillis(100));
        manual.runDue();
        assertThat(manual.untilNext()).contains(Duration.ofMillis(200));
        time.advance(Duration.ofMillis(200));
        manual.runDue();
        assertThat(steps).hasValue(3);
        assertThat(manual.untilNext()).contains(Duration.ofHours(1));
    }

    @Test
    void pauseAfterFailuresGrowsToHalfAMinuteAndNoFurther() {
        manual.add(duty("always fails", () -> {
            throw new StackOverflowError("planted");
        }));
        for (int i = 0; i < 40; i++) {
            assertThat(manual.runDue()).isEqualTo(1);
            time.advance(manual.untilNext().orElseThrow());
        }
        manual.runDue();
        assertThat(manual.untilNext()).contains(Duration.ofSeconds(30));
    }

    @Test
    void aBusyDutyDoesNotStarveTheOthers() {
        List<String> order = new ArrayList<>();
        for (String name : List.of("a", "b", "c")) {
            manual.add(duty(name, () -> {
                order.add(name);
                return Step.again(1);
            }));
        }
        manual.runDue();
        manual.runDue();
        assertThat(order).containsExactly("a", "b", "c", "a", "b", "c");
    }

    @Test
    void closedAssignmentRunsNoMore() {
        AtomicInteger steps = new AtomicInteger();
        DutyRunner.Assignment duty = manual.add(duty("gone", () -> Step.again(steps.incrementAndGet())));
        manual.runDue();
        duty.close();
        duty.wake();
        assertThat(manual.runDue()).isZero();
        assertThat(steps).hasValue(1);
    }

    @Test
    void manyDutiesOnTwoThreadsNeverOverlapThemselves() throws Exception {
        int duties = 200;
        AtomicBoolean overlapped = new AtomicBoolean();
        CountDownLatch stepsLeft = new CountDownLatch(duties * 20);
        try (DutyRunner runner = DutyRunner.start(2)) {
            List<DutyRunner.Assignment> assignments = new ArrayList<>();
            for (int i = 0; i < duties; i++) {
                AtomicBoolean running = new AtomicBoolean();
                assignments.add(runner.add(duty("d" + i, () -> {
                    if (!running.compareAndSet(false, true)) {
                        overlapped.set(true);
                    }
                    stepsLeft.countDown();
                    running.set(false);
                    return Step.again(1);
                })));
            }
            for (int i = 0; i < 5_000; i++) {
                assignments.get(i % duties).wake();
            }
            assertThat(stepsLeft.await(30, TimeUnit.SECONDS)).isTrue();
        }
        assertThat(overlapped).isFalse();
    }

    @Test
    void stepsThatNeverEndKeepNoOtherDutyFromRunning() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        CountDownLatch beats = new CountDownLatch(3);
        try (DutyRunner runner = DutyRunner.start(2)) {
            for (int i = 0; i < 5; i++) {
                runner.add(duty("hangs", () -> {
                    end.await();
                    return Step.restFor(1, Duration.ofDays(1));
                }));
                if (i == 3) {
                    runner.add(duty("beats", () -> {
                        beats.countDown();
                        return Step.restFor(1, Duration.ofMillis(10));
                    }));
                }
            }
            assertThat(beats.await(30, TimeUnit.SECONDS)).isTrue();
            end.countDown();
        }
    }

    @Test
    void sleepingThreadIsWokenEarly() throws Exception {
        CountDownLatch second = new CountDownLatch(2);
        try (DutyRunner runner = DutyRunner.start(1)) {
            DutyRunner.Assignment duty = runner.add(duty("hourly", () -> {
                second.countDown();
                return Step.restFor(0, Duration.ofHours(1));
            }));
            await().until(() -> second.getCount() == 1);
            duty.wake();
            assertThat(second.await(30, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void failuresAreReportedWithTheirNumberInARow() {
        AtomicInteger inARowSeen = new AtomicInteger();
        DutyRunner.FailureListener listener = (duty, failure, inARow) -> {
            inARowSeen.set(inARow);
            throw new IllegalStateException("a listener that fails too");
        };
        try (DutyRunner runner = DutyRunner.start(1, listener)) {
            runner.add(duty("fails", () -> {
                throw new java.io.IOException("planted");
            }));
            await().until(() -> inARowSeen.get() >= 2);
        }
    }

    @Test
    void closeWaitsForTheRunningStepAndInterruptsOneThatNeverEnds() throws Exception {
        CountDownLatch started = new CountDownLatch(1);
        CountDownLatch interrupted = new CountDownLatch(1);
        DutyRunner runner = DutyRunner.start(1);
        runner.add(duty("never returns", () -> {
            started.countDown();
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                interrupted.countDown();
            }
            return Step.again(0);
        }));
        assertThat(started.await(30, TimeUnit.SECONDS)).isTrue();
        runner.close(Duration.ofMillis(50));
        assertThat(interrupted.await(30, TimeUnit.SECONDS)).isTrue();
        assertThatThrownBy(() -> runner.add(duty("late", () -> Step.again(0))))
                .isInstanceOf(HoldfastException.class)
                .hasMessageContaining("closed");
    }

    @Test
    void closingAnAssignmentWaitsForItsStep() throws Exception {
        CountDownLatch started = new CountDownLatch(1);
        CountDownLatch mayEnd = new CountDownLatch(1);
        AtomicBoolean ended = new AtomicBoolean();
        try (DutyRunner runner = DutyRunner.start(2)) {
            DutyRunner.Assignment duty = runner.add(duty("slow step", () -> {
                started.countDown();
                mayEnd.await();
                ended.set(true);
                return Step.again(0);
            }));
            assertThat(started.await(30, TimeUnit.SECONDS)).isTrue();
            Thread closer = Thread.ofVirtual().start(duty::close);
            await().until(() -> closer.getState() == Thread.State.WAITING);
            mayEnd.countDown();
            closer.join();
            assertThat(ended).isTrue();
        }
    }

    private interface Body {
        Step step() throws Exception;
    }

    private static Duty duty(String name, Body body) {
        return new Duty() {
            @Override
            public String name() {
                return name;
            }

            @Override
            public Step step() throws Exception {
                return body.step();
            }
        };
    }
}
