package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.MoveMessage.Ask;
import io.mooncake.core.MoveMessage.Done;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Version;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Priority;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What nodes say about moves, on the wire. */
final class MoveMessageTest {
    private static BlockRef ref(int i) {
        return new BlockRef(BlockId.of("k" + i), new Version(i + 1, 2), new NodeId("a", 3), 1, 4096L * i, 100 + i, i,
                18);
    }

    private static byte[] bytes(MoveMessage message) {
        ByteBuffer encoded = message.encode();
        byte[] bytes = new byte[encoded.remaining()];
        encoded.get(bytes);
        return bytes;
    }

    @Test
    void shouldReadWhatItWrote() {
        List<BlockRef> refs = IntStream.range(0, RefMessage.MAX_REFS).mapToObj(MoveMessageTest::ref).toList();
        for (MoveMessage message : List.of(new Ask(7, 64, true, Priority.LOAD, 1_500, refs),
                new Ask(Long.MAX_VALUE, 0, false, Priority.BACKGROUND, 1, refs.subList(0, 1)),
                new Done(7, 64, MoveMessage.OUTCOMES), new Done(1, 0, List.of(Outcome.OK)))) {
            assertEquals(message, MoveMessage.read(bytes(message)));
        }
    }

    @Test
    void shouldRefuseWhatIsNone() {
        byte[] whole = bytes(new Ask(7, 0, true, Priority.LOAD, 1_500, List.of(ref(0), ref(1))));
        Random random = new Random(5);
        for (int i = 0; i < 20_000; i++) {
            byte[] wrong = Arrays.copyOf(whole, random.nextInt(4) == 0 ? random.nextInt(400) : whole.length);
            for (int n = random.nextInt(4); n >= 0 && wrong.length > 0; n--) {
                wrong[random.nextInt(wrong.length)] = (byte) random.nextInt();
            }
            try {
                MoveMessage read = MoveMessage.read(wrong);
                assertTrue(read.first() >= 0 && !(read instanceof Ask ask && ask.refs().size() > RefMessage.MAX_REFS));
            } catch (MooncakeException e) {
                assertTrue(e.getMessage() != null);
            }
        }
        assertThrows(MooncakeException.class, () -> MoveMessage.read(new byte[0]));
        whole[2] = 127;
        assertThrows(MooncakeException.class, () -> MoveMessage.read(whole));
    }
}
