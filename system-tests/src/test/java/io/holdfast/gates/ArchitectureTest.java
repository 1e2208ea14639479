package io.holdfast.gates;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.ArchRule;
import io.holdfast.redis.Holdfast;
import io.holdfast.slab.planted.SlabWithALibrary;
import io.holdfast.sweep.planted.SweepThatKnowsRedis;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ArchitectureTest {

    private static final Map<String, ArchRule> RULES = Architecture.rules();
    private static final JavaClasses PRODUCT = Product.CLASSES;

    static Stream<String> rules() {
        return RULES.keySet().stream();
    }

    private static ArchRule rule(String name) {
        return Objects.requireNonNull(RULES.get(name), name);
    }

    @ParameterizedTest
    @MethodSource("rules")
    void holds(String name) {
        rule(name).check(PRODUCT);
    }

    @Test
    void theProductIsReallyLookedAt() {
        assertThat(PRODUCT.contain(Holdfast.class)).isTrue();
        assertThat(PRODUCT.contain("io.holdfast.DutyRunner")).isTrue();
        assertThat(PRODUCT.contain("io.holdfast.app.Main")).isTrue();
        assertThat(PRODUCT.contain(SlabWithALibrary.class)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "sweep knows core only",
                "core and slab need the JDK alone",
                "databases are for catalogues, sinks and app",
                "only the duty runner starts threads",
                "packages have no cycles",
            })
    void aPlantedMistakeIsFound(String name) {
        JavaClasses planted = new ClassFileImporter()
                .importClasses(
                        SweepThatKnowsRedis.class,
                        SlabWithALibrary.class,
                        Holdfast.class,
                        io.holdfast.sweep.planted.CycleThere.class,
                        io.holdfast.slab.planted.CycleBack.class);
        assertThat(rule(name).evaluate(planted).hasViolation()).isTrue();
    }
}
