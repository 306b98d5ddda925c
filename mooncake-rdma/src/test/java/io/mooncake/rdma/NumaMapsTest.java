package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.mooncake.core.base.Memory;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** On which NUMA node memory lies. */
final class NumaMapsTest {
    private static final List<String> LINES = List.of(
            "00400000 default file=/usr/bin/java mapped=2 N0=2 kernelpagesize_kB=4",
            "7f0000000000 default anon=1024 dirty=1024 N0=24 N1=1000 kernelpagesize_kB=4",
            "7f0000800000 bind:1 anon=4 dirty=4 N0=4 kernelpagesize_kB=2048",
            "7f0001000000 interleave:0-1 anon=2048 dirty=2048 N0=1024 N1=1024 kernelpagesize_kB=4",
            "7f0002000000 default");

    @ParameterizedTest
    @CsvSource({"0x7f0000000000, 0x400000, 1", "0x7f0000001000, 0x100, 1", // in the midst of a mapping
            "0x7f0000800000, 0x800000, 0", "0x7f0001000000, 0x800000, -1", // half and half
            "0x7f0002000000, 0x1000, -1", // never touched
            "0x7f0000000000, 0x1000000, 0", // two mappings: the larger pages count for more
            "0x100, 0x10, -1"})
    void shouldNameTheNodeThatHasTheMost(String address, String length, int node) {
        Memory memory = new Memory.DeviceMemory(0, Long.decode(address), Long.decode(length));
        assertEquals(node, new NumaMaps(LINES).nodeOf(List.of(memory)));
    }

    @Test
    void shouldSayNothingWhereTheKernelDoes() {
        assertEquals(-1, new NumaMaps(List.of()).nodeOf(List.of(new Memory.DeviceMemory(0, 4096, 4096))));
        assertEquals(-1, new NumaMaps(LINES).nodeOf(List.of()));
    }
}
