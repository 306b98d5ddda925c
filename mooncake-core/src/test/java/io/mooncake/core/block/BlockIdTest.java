package io.mooncake.core.block;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Layout;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Test vectors; the hashes were computed by another implementation of SHA-256. */
final class BlockIdTest {
    private static final Layout LAYOUT = new Layout(2, 2, 4, 256, "bf16");
    private static final String FIRST = "adc3a8f5404e406a0ba4ca341eaebb416aa7563752349502f30131a496237a4c";
    private static final String SECOND = "ee47a9f061f9998565fbf5a719a73a51b6e91f8224aa8c7f76311473caccd9bd";

    private static final int SALT_TAG = 0x68ee3240;

    private static String hex(BlockId id) {
        return HexFormat.of().formatHex(id.toBytes());
    }

    @Test
    void shouldKeepShortKeysAndHashLongOnes() {
        assertEquals("00".repeat(32), hex(BlockId.of("")));
        assertEquals("03616263" + "00".repeat(28), hex(BlockId.of("abc")));
        assertEquals("02c3a9" + "00".repeat(29), hex(BlockId.of("\u00e9")));
        assertEquals("1f" + "61".repeat(31), hex(BlockId.of("a".repeat(31))));
        assertEquals("40adc610400039cb3cff021d8f232a05206336009fa50cb268451a6a63d6d66e",
                hex(BlockId.of("a".repeat(32))));
        assertEquals("abc", BlockId.of("abc").toString());
        assertEquals("a".repeat(31), BlockId.of("a".repeat(31)).toString());
        assertEquals(hex(BlockId.of("a b")), BlockId.of("a b").toString());
        assertFalse(BlockId.of("a".repeat(32)).isContentAddressed());
    }

    @Test
    void shouldTellApartKeysThatDifferInLengthOnly() {
        assertNotEquals(BlockId.of(new byte[1]), BlockId.of(new byte[2]));
        assertNotEquals(BlockId.of(""), BlockId.of(new byte[1]));
        Set<Integer> hashes = new HashSet<>();
        for (int i = 0; i < 10_000; i++) {
            hashes.add(BlockId.of("block-" + i).hashCode());
        }
        assertTrue(hashes.size() > 9_990, () -> hashes.size() + " different hash codes of 10,000 keys");
    }

    @Test
    void shouldReadBackWhatItWrote() {
        BlockId id = BlockId.of("a".repeat(40));
        assertEquals(id, BlockId.fromBytes(id.toBytes()));
        ByteBuffer buffer = ByteBuffer.allocate(40);
        id.write(buffer);
        assertEquals(32, buffer.position());
        assertEquals(id, BlockId.read(buffer.flip()));
        assertEquals(id.hashCode(), BlockId.fromBytes(id.toBytes()).hashCode());
        assertEquals(0, id.compareTo(BlockId.fromBytes(id.toBytes())));
        for (int length : new int[]{0, 31, 33}) {
            MooncakeException e = assertThrows(MooncakeException.class, () -> BlockId.fromBytes(new byte[length]));
            assertEquals(Kind.INVALID_ARGUMENT, e.kind());
        }
    }

    @Test
    void shouldOrderByUnsignedBytes() {
        BlockId chain = new PrefixChain("m", LAYOUT, "e", "").first(1);
        assertTrue(BlockId.of("a").compareTo(BlockId.of("b")) < 0);
        assertTrue(chain.compareTo(BlockId.of("zzzz")) > 0);
        assertTrue(BlockId.of("zzzz").compareTo(chain) < 0);
    }

    @Test
    void shouldChainPrefixesAsDocumented() {
        assertEquals("3144265e172959be0adfc06e6dac2f464a68f82ee0238a3037f5ad61183a2b24",
                HexFormat.of().formatHex(LAYOUT.fingerprint()));
        PrefixChain chain = new PrefixChain("llama-3-8b", LAYOUT, "engine-1", "");
        BlockId first = chain.first(1, 2, 3, 4);
        assertEquals(FIRST, hex(first));
        assertEquals(SECOND, hex(chain.next(first, 5, 6, 7, -1)));
        assertTrue(first.isContentAddressed());
        assertEquals(FIRST, first.toString());
        List<BlockId> ids = chain.ids(new int[]{1, 2, 3, 4, 5, 6, 7, -1, 9, 10, 11});
        assertEquals(List.of(FIRST, SECOND), ids.stream().map(BlockIdTest::hex).toList());
        assertEquals(List.of(), chain.ids(new int[]{1, 2, 3}));
        assertEquals("e8ee3240c5c7855085fc2f359227962334446c081fd3029f50d167268983312d",
                hex(new PrefixChain("llama-3-8b", LAYOUT, "engine-1", "tenant").first(1, 2, 3, 4)));
    }

    @Test
    void shouldTellTenantsApart() {
        assertEquals(SALT_TAG, BlockId.saltTag("tenant"));
        PrefixChain chain = new PrefixChain("m", LAYOUT, "e", "tenant");
        for (BlockId id : chain.ids(new int[]{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})) {
            assertEquals(SALT_TAG, id.saltTag());
            assertTrue(id.isContentAddressed());
        }
        assertNotEquals(SALT_TAG, new PrefixChain("m", LAYOUT, "e", "other").first(1).saltTag());
        assertEquals(-1, BlockId.of("tenant").saltTag());
        assertEquals(-1, BlockId.of("a".repeat(40)).saltTag());
    }

    @Test
    void shouldNeverMatchAcrossModelsShapesBuildsAndTenants() {
        Set<BlockId> ids = new HashSet<>();
        for (String model : List.of("m", "n")) {
            for (Layout layout : List.of(LAYOUT, new Layout(2, 2, 4, 256, "fp8"), new Layout(2, 1, 4, 512, "bf16"))) {
                for (String engine : List.of("e", "f")) {
                    for (String salt : List.of("", "s")) {
                        ids.add(new PrefixChain(model, layout, engine, salt).first(1, 2, 3, 4));
                    }
                }
            }
        }
        // Texts are length-prefixed, so moving a letter from one to the next is another root.
        ids.add(new PrefixChain("m", LAYOUT, "es", "").first(1, 2, 3, 4));
        assertEquals(25, ids.size());
    }

    @Test
    void shouldGiveACopyOfItsBytes() {
        BlockId id = BlockId.of("abc");
        id.toBytes()[0] = 9;
        assertArrayEquals(BlockId.of("abc").toBytes(), id.toBytes());
    }
}
