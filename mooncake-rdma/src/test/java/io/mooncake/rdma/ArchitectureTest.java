package io.mooncake.rdma;

import io.mooncake.testing.HouseRules;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The architecture of the RDMA module. */
class ArchitectureTest {
    @TestFactory
    Stream<DynamicTest> rdmaKeepsItsRules() {
        return HouseRules.tests(HouseRules.classesUnder("target/classes"),
                HouseRules.nativeModule("io.mooncake.rdma", "io.mooncake.rdma.verbs", "VerbsLibrary"));
    }
}
