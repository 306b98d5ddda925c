package io.mooncake.bench;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.lang.ArchRule;
import io.mooncake.testing.HouseRules;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The architecture of the bench: a user of the library like any other, except for what measures or stresses hidden parts. */
class ArchitectureTest {

    private static final String ROOT = "io.mooncake";

    private static final List<String> PUBLIC = List.of("io.mooncake.core", "io.mooncake.core.base",
            "io.mooncake.core.block",
            "io.mooncake.core.pool", "io.mooncake.core.transfer", "io.mooncake.core.registry",
            "io.mooncake.core.schedule",
            "io.mooncake.rdma", "io.mooncake.cuda");

    /** What an inference engine is called by. */
    private static final String ENGINES_OWN = "io.mooncake.bench.engine.ffi";

    /** Of the core's test code. */
    private static final String SIMULATOR = "io.mooncake.core.sim";

    @TestFactory
    Stream<DynamicTest> benchKeepsItsRules() {
        ArchRule noRawBindings = noClasses().should()
                .dependOnClassesThat(resideInAPackage("..ffi").and(not(resideInAPackage(ENGINES_OWN))))
                .as("the bench does not touch raw bindings of the library");
        ArchRule ownBindings = noClasses().that()
                .resideOutsideOfPackage("io.mooncake.bench.engine..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage(ENGINES_OWN)
                .as("the bindings of an inference engine are used by its engine only");
        // What JMH and jcstress generate is theirs.
        JavaClasses ours = HouseRules.classesUnder("target/classes")
                .that(DescribedPredicate.describe("written by hand",
                        type -> !type.getName().matches(".*(\\.jmh_generated\\.|_jcstress).*")));
        Stream<ArchRule> edges = Stream.of(HouseRules.edges(ROOT, "io.mooncake.bench.cli..",
                Stream.concat(PUBLIC.stream(), Stream.of("io.mooncake.bench..", SIMULATOR)).toList()),
                HouseRules.edges(ROOT, "io.mooncake.bench.engine..", PUBLIC), noRawBindings, ownBindings);
        return HouseRules.tests(ours, Stream.concat(edges, HouseRules.bans()));
    }
}
