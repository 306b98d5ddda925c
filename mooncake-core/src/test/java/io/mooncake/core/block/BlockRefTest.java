package io.mooncake.core.block;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

/** The 128 bytes; the vector was made by another implementation. */
final class BlockRefTest {
    private static final String ENCODED = "0361626300000000000000000000000000000000000000000000000000000000"
            + "1100000000000000010000003f8c0100020000003f8c01000000000002000000"
            + "00000004000000009203030000000000030000000700000001060000dc9d37ef"
            + "6e6f64652d310000000000000000000000000000000000000000000000000000";
    private static final BlockRef REF = new BlockRef(BlockId.of("abc"), new Version(17, 0x18c3f00000001L),
            new NodeId("node-1", 0x18c3f00000002L), 3, 1L << 33, 67_108_864, 7, (12_345L << 4) | 2);

    @Test
    void shouldEncodeAsDocumented() {
        assertEquals(ENCODED, HexFormat.of().formatHex(REF.toBytes()));
        assertEquals(REF, BlockRef.fromBytes(HexFormat.of().parseHex(ENCODED)));
        assertEquals(7 * 64, REF.guardOffset());
        BlockRef longest = new BlockRef(REF.id(), REF.version(), new NodeId("n".repeat(32), 1), Integer.MAX_VALUE,
                Long.MAX_VALUE - 1, 1, Integer.MAX_VALUE, Long.MAX_VALUE);
        assertEquals(longest, BlockRef.fromBytes(longest.toBytes()));
        assertTrue(longest.guardOffset() > Integer.MAX_VALUE);
    }

    @Test
    void shouldRefuseEverySingleWrongByte() {
        for (int at = 0; at < BlockRef.BYTES; at++) {
            byte[] bytes = REF.toBytes();
            bytes[at] ^= 0x10;
            assertRefused(bytes, "byte " + at);
        }
        assertRefused(new byte[127], "short");
        assertRefused(new byte[129], "long");
        assertRefused(new byte[128], "zeros");
    }

    @Test
    void shouldRefuseBadFieldsUnderAGoodChecksum() {
        byte[] good = REF.toBytes();
        assertEquals(REF, BlockRef.fromBytes(sealed(good.clone())));
        for (int at : new int[]{88, 89}) {
            for (int value : new int[]{0, 33, 127, -1}) {
                byte[] bytes = good.clone();
                bytes[at] = (byte) value;
                assertRefused(sealed(bytes), "byte " + at + " = " + value);
            }
        }
        for (int at : new int[]{48, 56, 64}) {
            assertRefused(sealed(ByteBuffer.wrap(good.clone()).order(ByteOrder.LITTLE_ENDIAN).putLong(at, -1).array()),
                    "long at " + at);
        }
        for (int at : new int[]{80, 84}) {
            assertRefused(sealed(ByteBuffer.wrap(good.clone()).order(ByteOrder.LITTLE_ENDIAN).putInt(at, -1).array()),
                    "int at " + at);
        }
        assertRefused(sealed(ByteBuffer.wrap(good.clone())
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(56, Long.MAX_VALUE)
                .array()), "offset + length overflows");
        byte[] name = good.clone();
        name[97] = '/';
        assertRefused(sealed(name), "name");
    }

    private static byte[] sealed(byte[] bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, 92);
        crc.update(bytes, 96, 32);
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putInt(92, (int) crc.getValue()).array();
    }

    private static void assertRefused(byte[] bytes, String what) {
        assertEquals(Kind.INVALID_ARGUMENT,
                assertThrows(MooncakeException.class, () -> BlockRef.fromBytes(bytes), what).kind(), what);
    }

    @Test
    void shouldOrderVersionsByCounterThenWriter() {
        assertTrue(new Version(2, 1).compareTo(new Version(1, 9)) > 0);
        assertTrue(new Version(2, 1).compareTo(new Version(2, 2)) < 0);
        assertEquals(0, new Version(2, 2).compareTo(new Version(2, 2)));
        assertEquals("v2@ff", new Version(2, 255).toString());
    }
}
