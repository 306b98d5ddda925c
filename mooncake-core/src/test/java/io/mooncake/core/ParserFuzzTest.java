package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockRef;
import io.mooncake.testing.Fuzz;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Values that come as bytes or text from outside: refused by our exception, or read so that they write back the same. */
@Timeout(300)
final class ParserFuzzTest {
    private static final int CRC_AT = 92;

    @Test
    void blockRefs() {
        Fuzz.run("blockref", 20_000, (input, random) -> {
            byte[] bytes = input.clone();
            if (bytes.length == BlockRef.BYTES && random.nextInt(4) > 0) {
                // Past the checksum, which keeps nearly every damage out.
                CRC32C crc = new CRC32C();
                crc.update(bytes, 0, CRC_AT);
                crc.update(bytes, CRC_AT + 4, BlockRef.BYTES - CRC_AT - 4);
                ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putInt(CRC_AT, (int) crc.getValue());
            }
            BlockRef ref;
            try {
                ref = BlockRef.fromBytes(bytes);
            } catch (MooncakeException e) {
                return;
            }
            assertEquals(ref, BlockRef.fromBytes(ref.toBytes()));
        });
    }

    @Test
    void addresses() {
        Fuzz.run("address", 20_000, (input, random) -> {
            Endpoint endpoint;
            try {
                endpoint = Endpoint.parse(new String(input, StandardCharsets.UTF_8), 0);
            } catch (MooncakeException e) {
                return;
            }
            assertEquals(endpoint, Endpoint.parse(endpoint.toString(), 1));
        });
    }
}
