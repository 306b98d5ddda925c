package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Settings are checked when they are made; numbers of queue pairs and packets do not come again. */
final class RdmaConfigTest {
    private static void assertRefused(String key, Executable executable) {
        MooncakeException refused = assertThrows(MooncakeException.class, executable);
        assertEquals(Kind.CONFIG_ERROR, refused.kind());
        assertTrue(refused.getMessage().contains(key), refused.getMessage());
    }

    @Test
    void shouldRefuseWhatCannotWork() {
        assertRefused("rdma.retries = 7", () -> new RdmaConfig.Link(14, 7, 16, 0));
        assertRefused("rdma.mtu = 1500", () -> new RdmaConfig.Link(14, 6, 16, 1500));
        assertRefused("rdma.chunkBytes", () -> new RdmaConfig.Window(4, (1 << 20) + 1, 1 << 20, 16, 64));
        assertRefused("rdma.registrationBytes",
                () -> new RdmaConfig.Limits(1, 1, 1, new RdmaConfig.Memory(1 << 20, 0, 64L << 30)));
        assertRefused("rdma.landingBytes",
                () -> new RdmaConfig.Limits(1, 1, 1, new RdmaConfig.Memory(4 << 20, 65_535, 64L << 30)));
        assertRefused("twice", () -> new RdmaConfig.Devices(List.of("a", "a"), 1, null));
        assertRefused("rdma.port", () -> new RdmaConfig.Devices(List.of(), 0, null));
    }

    @Test
    void shouldGiveEveryPacketNumberOnceBeforeItComesAgain() {
        PacketNumbers numbers = new PacketNumbers(0xFFFFFFF0);
        Set<Integer> all = IntStream.range(0, 1 << 16).mapToObj(i -> numbers.next()).collect(Collectors.toSet());
        assertEquals(1 << 16, all.size());
        assertTrue(all.stream().allMatch(number -> number >= 0 && number < 1 << 24));
    }
}
