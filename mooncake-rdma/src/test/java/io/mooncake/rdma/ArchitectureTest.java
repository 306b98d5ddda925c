package io.mooncake.rdma;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.lang.ArchRule;
import io.mooncake.testing.HouseRules;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The architecture of the RDMA module. */
class ArchitectureTest {

    private static final String ROOT = "io.mooncake";

    @TestFactory
    Stream<DynamicTest> rdmaKeepsItsRules() {
        DescribedPredicate<JavaClass> rawBinding = DescribedPredicate.describe("a raw binding",
                type -> type.getPackageName().equals("io.mooncake.rdma.verbs.ffi")
                        && !type.getSimpleName().equals("VerbsLibrary"));
        ArchRule throughTheFacade = noClasses().that()
                .resideInAPackage("io.mooncake.rdma")
                .should()
                .dependOnClassesThat(rawBinding)
                .as("raw bindings are used through the facade io.mooncake.rdma.verbs only");
        Stream<ArchRule> edges = Stream.of(
                HouseRules.edges(ROOT, "io.mooncake.rdma",
                        List.of("io.mooncake.core..", "io.mooncake.rdma.verbs", "io.mooncake.rdma.verbs.ffi")),
                HouseRules.edges(ROOT, "io.mooncake.rdma.verbs",
                        List.of("io.mooncake.core.base", "io.mooncake.rdma.verbs.ffi")),
                HouseRules.edges(ROOT, "io.mooncake.rdma.verbs.ffi", List.of()));
        Stream<ArchRule> own = Stream.of(throughTheFacade, HouseRules.ownSignatures("io.mooncake.rdma"));
        return HouseRules.tests(HouseRules.classesUnder("target/classes"),
                Stream.of(edges, own, HouseRules.bans()).flatMap(rules -> rules));
    }
}
