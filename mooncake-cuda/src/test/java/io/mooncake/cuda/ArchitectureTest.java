package io.mooncake.cuda;

import io.mooncake.testing.HouseRules;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The architecture of the CUDA module. */
class ArchitectureTest {
    @TestFactory
    Stream<DynamicTest> cudaKeepsItsRules() {
        return HouseRules.tests(HouseRules.classesUnder("target/classes"),
                HouseRules.nativeModule("io.mooncake.cuda", "io.mooncake.cuda.runtime", "CudaLibrary"));
    }
}
