package io.holdfast.redis.aggregate;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BinaryOperator;
import java.util.function.Function;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import org.jspecify.annotations.Nullable;

/**
 * Checks a merge function, for your tests: the parts of instances are merged in whatever order, so the order must not matter.
 *
 * <pre>{@code
 * MergeLaws.of(Visit.class, Visit::merge).identity(Visit.NONE).check();
 * }</pre>
 *
 * <p>Values are drawn by a seed: of records and common types by themselves, of others by {@link #values}. A law that does not hold
 * is an {@link AssertionError} with the law, the values, both results and the seed. Equality is {@code equals}, and floating
 * point sums are rarely associative to the last digit: {@link #equality} says what is near enough.
 */
public final class MergeLaws<T> {

    /** What is the same value. */
    @FunctionalInterface
    public interface Equality<T> {
        boolean same(T one, T other);
    }

    private final BinaryOperator<T> merge;
    private final Function<RandomGenerator, T> values;
    private final @Nullable Codec<T> codec;
    private final @Nullable T identity;
    private final Equality<T> equality;
    private final long seed;
    private final int tries;

    private MergeLaws(
            BinaryOperator<T> merge,
            Function<RandomGenerator, T> values,
            @Nullable Codec<T> codec,
            @Nullable T identity,
            Equality<T> equality,
            long seed,
            int tries) {
        this.merge = merge;
        this.values = values;
        this.codec = codec;
        this.identity = identity;
        this.equality = equality;
        this.seed = seed;
        this.tries = tries;
    }

    /** Of a record or a common type. */
    public static <T> MergeLaws<T> of(Class<T> type, BinaryOperator<T> merge) {
        Function<RandomGenerator, Object> drawn = Samples.of(type, type.getSimpleName());
        return new MergeLaws<>(
                merge, random -> type.cast(drawn.apply(random)), RecordCodec.of(type), null, Object::equals, 1, 1_000);
    }

    /** Of any type, with values that the caller draws. */
    public static <T> MergeLaws<T> values(Function<RandomGenerator, T> values, BinaryOperator<T> merge) {
        return new MergeLaws<>(merge, values, null, null, Object::equals, 1, 1_000);
    }

    /** Also checks that merging with this value changes nothing. */
    public MergeLaws<T> identity(T none) {
        return new MergeLaws<>(merge, values, codec, none, equality, seed, tries);
    }

    /** Also checks that values survive the codec, and that merging does not change the values it is given. */
    public MergeLaws<T> codec(Codec<T> used) {
        return new MergeLaws<>(merge, values, used, identity, equality, seed, tries);
    }

    public MergeLaws<T> equality(Equality<T> same) {
        return new MergeLaws<>(merge, values, codec, identity, same, seed, tries);
    }

    public MergeLaws<T> seed(long first) {
        return new MergeLaws<>(merge, values, codec, identity, equality, first, tries);
    }

    public MergeLaws<T> tries(int count) {
        return new MergeLaws<>(merge, values, codec, identity, equality, seed, count);
    }

    /** Throws the first counter-example. */
    public void check() {
        for (long one = seed; one < seed + tries; one++) {
            RandomGenerator random =
                    RandomGeneratorFactory.of("L64X128MixRandom").create(one);
            T a = values.apply(random);
            T b = values.apply(random);
            T c = values.apply(random);
            List<byte[]> before = encoded(List.of(a, b, c));
            same("commutative: merge(a, b) = merge(b, a)", one, merged(a, b), merged(b, a), List.of(a, b));
            same(
                    "associative: merge(merge(a, b), c) = merge(a, merge(b, c))",
                    one,
                    merged(merged(a, b), c),
                    merged(a, merged(b, c)),
                    List.of(a, b, c));
            if (identity != null) {
                same("identity: merge(a, none) = a", one, merged(a, identity), a, List.of(a));
                same("identity: merge(none, a) = a", one, merged(identity, a), a, List.of(a));
            }
            List<byte[]> after = encoded(List.of(a, b, c));
            for (int i = 0; i < before.size(); i++) {
                if (!Arrays.equals(before.get(i), after.get(i))) {
                    throw broken(
                            "merging leaves its arguments as they are", one, "another value", "", List.of(a, b, c));
                }
            }
            if (codec != null) {
                same("codec: decode(encode(a)) = a", one, codec.decode(codec.encode(a)), a, List.of(a));
            }
        }
    }

    private List<byte[]> encoded(List<T> given) {
        List<byte[]> all = new ArrayList<>();
        if (codec != null) {
            for (T value : given) {
                all.add(codec.encode(value));
            }
        }
        return all;
    }

    private T merged(T first, T second) {
        return Partial.merged(merge, first, second);
    }

    private void same(String law, long one, T left, T right, List<T> given) {
        if (!equality.same(left, right)) {
            throw broken(law, one, String.valueOf(left), String.valueOf(right), given);
        }
    }

    private static AssertionError broken(String law, long seed, String left, String right, List<?> given) {
        StringBuilder text = new StringBuilder("the merge function breaks a law, ").append(law);
        for (int i = 0; i < given.size(); i++) {
            text.append("\n  ").append((char) ('a' + i)).append(" = ").append(given.get(i));
        }
        text.append("\n  left  = ").append(left);
        if (!right.isEmpty()) {
            text.append("\n  right = ").append(right);
        }
        return new AssertionError(
                text.append("\n  seed(").append(seed).append(") replays it").toString());
    }
}
