package io.mooncake.cuda;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.lang.ArchRule;
import io.mooncake.testing.HouseRules;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The architecture of the CUDA module. */
class ArchitectureTest {

    private static final String ROOT = "io.mooncake";

    @TestFactory
    Stream<DynamicTest> cudaKeepsItsRules() {
        DescribedPredicate<JavaClass> rawBinding = DescribedPredicate.describe("a raw binding",
                type -> type.getPackageName().equals("io.mooncake.cuda.runtime.ffi")
                        && !type.getSimpleName().equals("CudaLibrary"));
        ArchRule throughTheFacade = noClasses().that()
                .resideInAPackage("io.mooncake.cuda")
                .should()
                .dependOnClassesThat(rawBinding)
                .as("raw bindings are used through the facade io.mooncake.cuda.runtime only");
        Stream<ArchRule> edges = Stream.of(
                HouseRules.edges(ROOT, "io.mooncake.cuda",
                        List.of("io.mooncake.core..", "io.mooncake.cuda.runtime", "io.mooncake.cuda.runtime.ffi")),
                HouseRules.edges(ROOT, "io.mooncake.cuda.runtime",
                        List.of("io.mooncake.core.base", "io.mooncake.cuda.runtime.ffi")),
                HouseRules.edges(ROOT, "io.mooncake.cuda.runtime.ffi", List.of()));
        Stream<ArchRule> own = Stream.of(throughTheFacade, HouseRules.ownSignatures("io.mooncake.cuda"));
        return HouseRules.tests(HouseRules.classesUnder("target/classes"),
                Stream.of(edges, own, HouseRules.bans()).flatMap(rules -> rules));
    }
}
