package io.mooncake.core.base;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException.Kind;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class ByteSizeTest {
    @ParameterizedTest
    @CsvSource({"0, 0", "65536, 65536", "64KiB, 65536", "64k, 65536", "64KB, 65536", "64 kib, 65536",
            "' 1MiB ', 1048576", "1.5GiB, 1610612736",
            "2t, 2199023255552", "1P, 1125899906842624", "12b, 12", "0.5k, 512",
            "9223372036854775807, 9223372036854775807", "8388607T, 9223370937343148032"})
    void shouldReadSizes(String text, long bytes) {
        assertEquals(bytes, ByteSize.parse("block size", text));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "x", "-1", "1.5", "0.3k", "1kk", "64 KiBs", "1e3", "9223372036854775808", "8192P",
            ".5k", "5.", "0x10", "١k"})
    void shouldRefuseWhatIsNoSize(String text) {
        MooncakeException e = assertThrows(MooncakeException.class, () -> ByteSize.parse("block size", text));
        assertEquals(Kind.CONFIG_ERROR, e.kind());
        assertTrue(String.valueOf(e.getMessage()).startsWith("block size = '" + text + "'"), e.getMessage());
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 1023, 1024, 1536, 65536, 1L << 20, 3L << 30, 1L << 40, (1L << 50) * 5, 1L << 62,
            Long.MAX_VALUE})
    void shouldReadWhatItWrites(long bytes) {
        assertEquals(bytes, ByteSize.parse("size", ByteSize.format(bytes)));
    }

    @Test
    void shouldUseTheLargestUnitThatDivides() {
        assertEquals("64MiB", ByteSize.format(64 << 20));
        assertEquals("1025B", ByteSize.format(1025));
        assertEquals("0B", ByteSize.format(0));
        assertEquals("1025KiB", ByteSize.format(1025 << 10));
    }

    @Test
    void shouldRoundForPeople() {
        assertEquals("0 B", ByteSize.rounded(0));
        assertEquals("1.46 GiB", ByteSize.rounded(1.46 * (1 << 30)));
        assertEquals("512 MiB", ByteSize.rounded(512 << 20));
        assertEquals("-2.00 KiB", ByteSize.rounded(-2048));
    }
}
