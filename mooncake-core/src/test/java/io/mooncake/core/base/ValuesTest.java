package io.mooncake.core.base;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.MooncakeException.Kind;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The small values: node ids, memory, layouts, bounds, counters. */
final class ValuesTest {
    private static void refused(Kind kind, Executable call) {
        assertEquals(kind, assertThrows(MooncakeException.class, call).kind());
    }

    @Test
    void nodeIdsOfLaterLivesAreHigher() {
        Random random = new Random(3);
        NodeId early = NodeId.newLife("a", InstantSource.fixed(Instant.ofEpochMilli(1_700_000_000_000L)), random);
        NodeId late = NodeId.newLife("a", InstantSource.fixed(Instant.ofEpochMilli(1_700_000_000_001L)), random);
        assertTrue(late.incarnation() > early.incarnation());
        assertEquals(1_700_000_000_000L, early.incarnation() >> 20);
        assertEquals("n-1.x_Y#ff", new NodeId("n-1.x_Y", 255).toString());
        assertArrayEquals("n1".getBytes(StandardCharsets.US_ASCII), new NodeId("n1", 1).nameBytes());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "a b", "a/b", "ä", "123456789012345678901234567890123", "a\n"})
    void nodeNamesAreShortAndPlain(String name) {
        refused(Kind.INVALID_ARGUMENT, () -> new NodeId(name, 1));
    }

    @Test
    void incarnationsArePositive() {
        refused(Kind.INVALID_ARGUMENT, () -> new NodeId("a", 0));
        refused(Kind.INVALID_ARGUMENT, () -> new NodeId("a", -1));
    }

    @Test
    void c04_memoryIsNotEmptyNativeAndShared() {
        try (Arena shared = Arena.ofShared(); Arena confined = Arena.ofConfined()) {
            MemorySegment segment = shared.allocate(64, 64);
            assertEquals(64, Memory.of(segment).length());
            assertEquals(segment.address(), Memory.of(segment).address());
            refused(Kind.INVALID_ARGUMENT, () -> Memory.of(segment.asSlice(64)));
            refused(Kind.INVALID_ARGUMENT, () -> Memory.of(MemorySegment.NULL));
            refused(Kind.INVALID_ARGUMENT, () -> Memory.of(MemorySegment.ofArray(new byte[64])));
            refused(Kind.INVALID_ARGUMENT, () -> Memory.of(confined.allocate(64)));
        }
        assertEquals(5, new DeviceMemory(0, -8, 5).length(), "a device's addresses are its own");
        refused(Kind.INVALID_ARGUMENT, () -> new DeviceMemory(0, 8, 0));
        refused(Kind.INVALID_ARGUMENT, () -> new DeviceMemory(-1, 8, 1));
    }

    @Test
    void layoutsAreLayerThenPlaneThenToken() {
        Layout layout = new Layout(32, 2, 512, 2048, "bf16");
        assertEquals(512 * 2048, layout.planeBytes());
        assertEquals(64 << 20, layout.blockBytes());
        Set<Long> starts = new HashSet<>();
        for (int layer = 0; layer < 32; layer++) {
            for (int plane = 0; plane < 2; plane++) {
                assertEquals((layer * 2 + plane) * layout.planeBytes(), layout.offset(layer, plane));
                starts.add(layout.offset(layer, plane));
            }
        }
        assertEquals(64, starts.size());
        refused(Kind.OUT_OF_BOUNDS, () -> layout.offset(32, 0));
        refused(Kind.OUT_OF_BOUNDS, () -> layout.offset(0, 2));
        refused(Kind.OUT_OF_BOUNDS, () -> layout.offset(-1, 0));
    }

    @Test
    void layoutsBeyondTwoGibibytesDoNotOverflow() {
        Layout layout = new Layout(1000, 2, 100_000, 100_000, "fp8");
        assertEquals(20_000_000_000_000L, layout.blockBytes());
        assertEquals(19_990_000_000_000L, layout.offset(999, 1));
        refused(Kind.INVALID_ARGUMENT, () -> new Layout(Integer.MAX_VALUE, 2, Integer.MAX_VALUE, 100, "fp8"));
        refused(Kind.INVALID_ARGUMENT, () -> new Layout(0, 2, 1, 1, "fp8"));
        refused(Kind.INVALID_ARGUMENT, () -> new Layout(1, 1, 1, 1, " "));
    }

    @Test
    void fingerprintsTellLayoutsApart() {
        byte[] fingerprint = new Layout(32, 2, 512, 2048, "bf16").fingerprint();
        assertArrayEquals(fingerprint, new Layout(32, 2, 512, 2048, "bf16").fingerprint());
        assertEquals("b839a1617d34b034fc05ba98c14e94c36480ff8cf44aadc537835ae2660822c7",
                HexFormat.of().formatHex(fingerprint), "a test vector: never changes");
        assertFalse(Arrays.equals(fingerprint, new Layout(32, 2, 512, 2048, "fp16").fingerprint()));
        assertFalse(Arrays.equals(fingerprint, new Layout(2, 32, 512, 2048, "bf16").fingerprint()));
    }

    @Test
    void boundsDoNotOverflow() {
        assertTrue(Bounds.contains(0, 0, 0));
        assertTrue(Bounds.contains(5, 0, 5));
        assertTrue(Bounds.contains(4, 1, 5));
        assertFalse(Bounds.contains(5, 1, 5));
        assertFalse(Bounds.contains(6, 0, 5));
        assertFalse(Bounds.contains(Long.MAX_VALUE - 7, 16, 4096));
        assertFalse(Bounds.contains(-1, 1, 5));
        assertFalse(Bounds.contains(0, -1, 5));
        refused(Kind.OUT_OF_BOUNDS, () -> Bounds.check("it", 4090, 7, 4096));
    }

    @Test
    void countersOnlyGrow() {
        Counters counters = new Counters();
        counters.increment(Counter.VIEWS);
        counters.add(Counter.VIEWS, 41);
        assertEquals(42, counters.get(Counter.VIEWS));
        assertEquals(42, counters.snapshot().get(Counter.VIEWS));
        assertEquals(Counter.values().length, counters.snapshot().size());
        assertTrue(counters.toString().contains("VIEWS=42"));
    }

    @Test
    void everyKindOfErrorHasACategory() {
        for (Kind kind : Kind.values()) {
            MooncakeException e = new MooncakeException(kind, "m");
            assertEquals(kind.category(), e.category());
        }
        assertNotEquals(Kind.CLOSED.category(), Kind.TIMEOUT.category());
    }
}
