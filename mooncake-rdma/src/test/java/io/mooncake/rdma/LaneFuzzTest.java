package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.onesided.RemoteRegion.Part;
import io.mooncake.rdma.LaneMessage.Keys;
import io.mooncake.rdma.LaneMessage.NoRegion;
import io.mooncake.rdma.LaneMessage.Refused;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import io.mooncake.testing.Fuzz;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

/** Bytes from peers that are not what they should be. */
final class LaneFuzzTest {
    private static final int GOOD_EVERY = 100;

    @Test
    void shouldRefuseOrReadAnyBytes() {
        int[] read = {0};
        Fuzz.run("lanes", 20_000, (input, random) -> {
            LaneMessage message;
            try {
                message = LaneMessages.decode(input);
            } catch (MooncakeException e) {
                assertEquals(Kind.PROTOCOL_ERROR, e.kind());
                return;
            }
            read[0]++;
            LaneMessage again = LaneMessages.decode(array(message));
            // Text that is no UTF-8 is read as something else.
            if (!(message instanceof Refused || message instanceof NoRegion)) {
                assertEquals(message, again);
            }
            if (message instanceof Keys keys) {
                RdmaRegion region = new RdmaRegion();
                region.answer(keys);
                region.key(Part.BYTES, keys.length() - 1);
            }
        });
        assertTrue(read[0] > 0 || Long.getLong("mooncake.fuzz.seconds", 0) > 0, "the corpus is of another version");
    }

    /** Frames are checked before anything of them is used. */
    @Test
    void shouldRefuseOrReadAnyFrame() {
        Fuzz.run("lanes", 20_000, (input, random) -> {
            MemorySegment frame = MemorySegment.ofArray(input).asSlice(0, Math.min(input.length, Frames.FRAME_BYTES));
            if (frame.byteSize() > 0 && random.nextBoolean()) {
                frame.set(ValueLayout.JAVA_BYTE, 0, (byte) (1 + random.nextInt(4)));
            }
            try {
                switch (Frames.type(frame)) {
                    case Frames.MESSAGE -> assertEquals(Frames.length(frame), Frames.message(frame).length);
                    case Frames.SEAL -> assertTrue(
                            Frames.length(frame) >= 0 && Frames.length(frame) <= LandingRegion.PIECE_BYTES);
                    case Frames.ANSWER -> assertTrue(
                            Frames.number(frame) == 0 || Frames.grant(frame).number() == Frames.number(frame));
                    default -> assertEquals(Frames.HEADER_BYTES, frame.byteSize());
                }
            } catch (MooncakeException e) {
                assertEquals(Kind.PROTOCOL_ERROR, e.kind());
            }
        });
    }

    private static byte[] array(LaneMessage message) {
        var encoded = LaneMessages.encode(message);
        byte[] bytes = new byte[encoded.remaining()];
        encoded.get(bytes);
        return bytes;
    }

    /** Whatever is said about lanes by whomever, reads end, and those that succeed have the right bytes. */
    @Test
    void shouldServeAndReadWhateverIsSaid() {
        try (RdmaRig rig = new RdmaRig()) {
            EngineRig.Side owner = rig.side("owner");
            EngineRig.Side reader = rig.side("reader");
            Region source = owner.register(rig.pattern(8192), Access.READABLE);
            MemorySegment to = rig.filled(8192, EngineRig.FILL);
            Region into = reader.own(to);
            int[] tries = {0};
            Fuzz.run("lanes", 3_000, (input, random) -> {
                boolean toOwner = random.nextBoolean();
                NodeId peer = toOwner ? reader.id : owner.id;
                NodeId from = random.nextInt(3) == 0 ? new NodeId("nobody", 5) : peer;
                rig.bus.deliver(from, toOwner ? "owner" : "reader", input);
                rig.cycle();
                if (++tries[0] % GOOD_EVERY == 0) {
                    to.fill(EngineRig.FILL);
                    Reading good = reader.read(owner, source, 0, 8192, into);
                    rig.until(good::ended);
                    if (good.status == ReadStatus.OK) {
                        assertTrue(EngineRig.holdsPattern(to, 0, 8192, 0));
                    }
                    assertEquals(1, good.ends);
                }
            });
            rig.advance(10 * EngineRig.SECOND_NS);
            rig.settle();
            Reading last = reader.read(owner, source, 0, 8192, into);
            rig.until(last::ended);
            assertEquals(ReadStatus.OK, last.status);
        }
    }
}
