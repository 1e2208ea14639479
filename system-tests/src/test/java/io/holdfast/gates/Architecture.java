package io.holdfast.gates;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The rules between modules:
 *
 * <pre>
 *   core  <-  redis, sweep, slab  <-  app          embedded, testkit -> core
 * </pre>
 *
 * core and slab need the JDK alone; the three in the middle do not know each other.
 */
final class Architecture {

    private static final String[] JDK = {"java..", "javax..", "jdk.."};

    private static final String CORE = "io.holdfast";
    private static final String SPI = "io.holdfast.spi..";
    private static final String REDIS = "io.holdfast.redis..";
    private static final String SWEEP = "io.holdfast.sweep..";
    private static final String SLAB = "io.holdfast.slab..";
    private static final String EMBEDDED = "io.holdfast.embedded..";
    private static final String APP = "io.holdfast.app..";

    private static final String TESTKIT = "io.holdfast.testkit..";

    private Architecture() {}

    static Map<String, ArchRule> rules() {
        Map<String, ArchRule> rules = new LinkedHashMap<>();
        rules.put("core is alone", never(List.of(CORE, SPI), REDIS, SWEEP, SLAB, EMBEDDED, APP, TESTKIT));
        rules.put("redis knows core only", never(List.of(REDIS), SWEEP, SLAB, EMBEDDED, APP, TESTKIT));
        rules.put("sweep knows core only", never(List.of(SWEEP), REDIS, SLAB, EMBEDDED, APP, TESTKIT));
        rules.put("slab knows core only", never(List.of(SLAB), REDIS, SWEEP, EMBEDDED, APP, TESTKIT));
        rules.put("embedded knows core only", never(List.of(EMBEDDED), REDIS, SWEEP, SLAB, APP, TESTKIT));
        rules.put("app knows no testkit", never(List.of(APP), TESTKIT));
        rules.put("core and slab need the JDK alone", jdkOnly());
        rules.put("databases are for catalogues, sinks and app", databases());
        rules.put("H2 and HikariCP are for app", libraries());
        rules.put("only the duty runner starts threads", threads());
        rules.put("packages have no cycles", cycles());
        return rules;
    }

    private static ArchRule never(List<String> packages, String... others) {
        return noClasses()
                .that()
                .resideInAnyPackage(packages.toArray(String[]::new))
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(others)
                .allowEmptyShould(true);
    }

    private static ArchRule jdkOnly() {
        return classes()
                .that()
                .resideInAnyPackage(CORE, SPI, SLAB)
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(with(JDK, CORE, SPI, SLAB, "org.jspecify.."))
                .allowEmptyShould(true);
    }

    private static ArchRule databases() {
        return noClasses()
                .that()
                .resideOutsideOfPackages("io.holdfast.sweep.catalogue..", "io.holdfast.redis.aggregate..", APP, TESTKIT)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("java.sql..", "javax.sql..")
                .allowEmptyShould(true);
    }

    private static ArchRule libraries() {
        return noClasses()
                .that()
                .resideOutsideOfPackages(APP, TESTKIT)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("org.h2..", "com.zaxxer..")
                .allowEmptyShould(true);
    }

    /**
     * So that a test can step the whole system. A builder may name the threads on which the user's own handlers run by
     * default: those are no background work of ours, and a test gives others.
     */
    private static ArchRule threads() {
        return noClasses()
                .that()
                .resideInAnyPackage(CORE, SPI, REDIS, SLAB)
                .and()
                .doNotHaveFullyQualifiedName("io.holdfast.DutyRunner")
                .and() // the servers of a cluster are asked side by side, so that one that hangs keeps nobody waiting
                .doNotHaveFullyQualifiedName("io.holdfast.redis.link.ClusterRoutes")
                .and() // it closes what was started with it side by side, when the duties have no more time
                .doNotHaveFullyQualifiedName("io.holdfast.redis.Holdfast")
                .and()
                .haveSimpleNameNotEndingWith("Builder")
                .should()
                .callMethod(Thread.class, "start")
                .orShould()
                .callMethod(Thread.class, "ofVirtual")
                .orShould()
                .callMethod(Thread.class, "ofPlatform")
                .orShould()
                .callMethod(Thread.class, "startVirtualThread", Runnable.class)
                .orShould()
                .dependOnClassesThat()
                .haveFullyQualifiedName("java.util.concurrent.Executors")
                .orShould()
                .dependOnClassesThat()
                .haveFullyQualifiedName("java.util.Timer")
                .allowEmptyShould(true);
    }

    private static ArchRule cycles() {
        SliceAssignment byPackage = new SliceAssignment() {
            @Override
            public SliceIdentifier getIdentifierOf(JavaClass type) {
                String name = type.getPackageName();
                return name.startsWith(CORE) ? SliceIdentifier.of(name) : SliceIdentifier.ignore();
            }

            @Override
            public String getDescription() {
                return "packages";
            }
        };
        return SlicesRuleDefinition.slices().assignedFrom(byPackage).should().beFreeOfCycles();
    }

    private static String[] with(String[] some, String... more) {
        String[] all = Arrays.copyOf(some, some.length + more.length);
        System.arraycopy(more, 0, all, some.length, more.length);
        return all;
    }
}
