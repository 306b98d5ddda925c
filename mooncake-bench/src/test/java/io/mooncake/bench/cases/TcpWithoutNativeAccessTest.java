package io.mooncake.bench.cases;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.mooncake.testing.ForkedJvm;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Cases C127 and C130, the store's part: pulls over TCP in a JVM that grants no native access and denies it to all; nothing is said on
 * standard error, and no RDMA or CUDA library is opened.
 */
class TcpWithoutNativeAccessTest {
    @TempDir
    @SuppressWarnings("NullAway.Init")
    Path folder;

    @Test
    void shouldPullOverTcpWhenNativeAccessIsDeniedToAll() throws Exception {
        ForkedJvm.Result result = ForkedJvm.run(folder,
                List.of("--illegal-native-access=deny", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp",
                        System.getProperty("java.class.path"), TcpProgram.class.getName()));
        assertEquals("", result.err());
        assertEquals("read OK, libraries []\n", result.out());
        assertEquals(0, result.exit());
    }
}
