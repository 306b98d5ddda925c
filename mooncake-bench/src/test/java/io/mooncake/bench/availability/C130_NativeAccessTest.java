package io.mooncake.bench.availability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.testing.ForkedJvm;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Case C130: the JVM's native-access switches, on the class path and on the module path. */
class C130_NativeAccessTest {

    @TempDir
    @SuppressWarnings("NullAway.Init")
    Path folder;

    @ParameterizedTest
    @EnumSource
    void shouldPrintNoWarningWhenGranted(Probes.On on) throws Exception {
        String grantees = on == Probes.On.CLASS_PATH ? "ALL-UNNAMED" : "io.mooncake.rdma,io.mooncake.cuda";
        ForkedJvm.Result result = Probes.run(folder, on,
                List.of("--enable-native-access=" + grantees, "--illegal-native-access=deny"));
        assertEquals("", result.err());
        assertNotRefused(result);
    }

    @ParameterizedTest
    @EnumSource
    void shouldLeaveOnlyTheJvmsOwnWarningWhenNotGranted(Probes.On on) throws Exception {
        ForkedJvm.Result result = Probes.run(folder, on, List.of());
        assertTrue(result.err().contains("restricted method"), result.err());
        assertTrue(result.err().lines().allMatch(line -> line.isBlank() || line.startsWith("WARNING: ")), result.err());
        assertNotRefused(result);
    }

    @ParameterizedTest
    @EnumSource
    void shouldNameTheFlagWhenDenied(Probes.On on) throws Exception {
        ForkedJvm.Result result = Probes.run(folder, on, List.of("--illegal-native-access=deny"));
        for (String module : List.of("rdma", "cuda")) {
            String sentence = Probes.said(result, module + " 1");
            assertTrue(sentence.endsWith("--enable-native-access=" + on.grantee("io.mooncake." + module)), sentence);
            assertEquals(sentence, Probes.said(result, module + " 2"));
        }
        assertEquals("", result.err());
    }

    private static void assertNotRefused(ForkedJvm.Result result) {
        for (String module : List.of("rdma", "cuda")) {
            String sentence = Probes.said(result, module + " 1");
            assertFalse(sentence.contains("--enable-native-access"), sentence);
        }
    }
}
