package io.mooncake.core.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Hop;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.Site;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.PoolSpace;
import io.mooncake.core.block.Tier;
import io.mooncake.core.block.Version;
import io.mooncake.core.registry.Delta.Evicted;
import io.mooncake.core.registry.Delta.Measured;
import io.mooncake.core.registry.Delta.NodeFacts;
import io.mooncake.core.registry.Delta.RegionFact;
import io.mooncake.core.registry.Delta.Room;
import io.mooncake.core.registry.Delta.Unread;
import io.mooncake.core.registry.Delta.Written;
import io.mooncake.core.registry.PairFigures.Figure;
import io.mooncake.core.registry.RegistryMessage.Ask;
import io.mooncake.core.registry.RegistryMessage.Deltas;
import io.mooncake.core.registry.RegistryMessage.LatestLife;
import io.mooncake.core.registry.RegistryMessage.Snapshot;
import io.mooncake.core.registry.RegistryMessage.WhichLife;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What goes over the wire between registries, and what comes from it. */
class DeltaCodecTest {
    private static final NodeId A = new NodeId("a", 77);
    private static final int RECORDS_AT = 28;

    static BlockRef ref(NodeId node, String id, long counter, int slot) {
        return new BlockRef(BlockId.of(id), new Version(counter, node.incarnation()), node, 1, slot * 4096L, 4096, slot,
                (counter << 4) | 2);
    }

    private static Deltas everything() {
        return new Deltas(A, 5, List.of(
                new NodeFacts(Map.of("tcp", "10.0.0.1:9000", "shm", "/dev/shm#1"),
                        List.of(new RegionFact(1, 1L << 40, 1), new RegionFact(2, 64, 3)),
                        new Site("h/17", "h", "", "zone 1")),
                new Written(ref(A, "x", 9, 3)), Evicted.of(ref(A, "y", 4, 1))));
    }

    private static Measured measured(int figures) {
        return new Measured(new PairFigures(A, new NodeId("b", 9), Hop.ZONE,
                Collections.nCopies(figures, new Figure("tcp", 1 << 20, 400_000, 900_000))));
    }

    private static Room room() {
        return new Room(new NodeSpace(A, List.of(new PoolSpace(Tier.VRAM, 3, 1L << 36, 1L << 30, 0),
                new PoolSpace(Tier.SLOW, -1, Long.MAX_VALUE, 5, Long.MAX_VALUE - 5))));
    }

    @Test
    void C48_roomThatCannotBeIsNotBelieved() {
        byte[] message = new Deltas(A, 1, List.of(room())).toBytes();
        int pool = DeltaCodec.HEADER_BYTES + DeltaCodec.RECORD_HEADER_BYTES + 1;
        for (int at : List.of(pool, pool + 5 + 7, pool + 5 + 15)) { // the tier, the sign of all bytes and of the free ones
            byte[] bad = message.clone();
            bad[at] = (byte) 0x80;
            assertEquals(List.of(new Unread(5)), ((Deltas) RegistryMessage.fromBytes(bad)).deltas());
        }
    }

    @Test
    void everyMessageComesBackAsItWas() {
        for (RegistryMessage message : List.of(everything(), new Deltas(A, 12, List.of()), new Ask(A),
                new WhichLife(A), new LatestLife(A),
                new Snapshot(A, 0, 0, 1, List.of()), new Snapshot(A, 1L << 60, 6, Snapshot.MAX_PARTS,
                        List.of(new Written(ref(A, "x", 9, 3)), measured(0), measured(1),
                                measured(PairFigures.MAX_FIGURES), room())))) {
            assertEquals(message, RegistryMessage.fromBytes(message.toBytes()));
        }
    }

    @Test
    void C48_aRecordOfALaterKindOrLengthIsPassedOverByItsLength() {
        byte[] before = everything().toBytes();
        // One more field behind what is known of WRITTEN, and a kind of which nobody knows yet.
        byte[] extra = {9, 9, 9, 9};
        ByteBuffer out = ByteBuffer.allocate(before.length + 2 * (4 + 4) + 4 + 132).order(ByteOrder.LITTLE_ENDIAN);
        out.put(before);
        out.put((byte) 200).put((byte) 0).putShort((short) 4).put(extra);
        out.put((byte) 2).put((byte) 0).putShort((short) 132).put(ref(A, "z", 2, 7).toBytes()).put(extra);
        byte[] message = Arrays.copyOf(out.array(), out.position());
        ByteBuffer patch = ByteBuffer.wrap(message).order(ByteOrder.LITTLE_ENDIAN);
        patch.putInt(4, message.length - DeltaCodec.HEADER_BYTES).putShort(RECORDS_AT, (short) 5);
        Deltas read = (Deltas) RegistryMessage.fromBytes(message);
        assertEquals(5, read.deltas().size());
        assertEquals(everything().deltas(), read.deltas().subList(0, 3));
        assertEquals(new Unread(200), read.deltas().get(3));
        assertEquals(new Written(ref(A, "z", 2, 7)), read.deltas().get(4));
    }

    @Test
    void aNodeThatDoesNotKnowOfPlacesSaysNone() {
        byte[] now = new Deltas(A, 1, List.of(new NodeFacts(Map.of(), List.of(), Site.UNKNOWN))).toBytes();
        byte[] before = Arrays.copyOf(now, now.length - 4);
        ByteBuffer.wrap(before)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(4, before.length - DeltaCodec.HEADER_BYTES)
                .putShort(DeltaCodec.HEADER_BYTES + 2, (short) 3);
        assertEquals(RegistryMessage.fromBytes(now), RegistryMessage.fromBytes(before));
    }

    @Test
    void C48_aMalformedRecordIsLostAlone() {
        byte[] message = everything().toBytes();
        int node = DeltaCodec.bytes(everything().deltas().getFirst());
        message[DeltaCodec.HEADER_BYTES + node + 4 + 60] ^= 1; // the reference's checksum is wrong now
        List<Delta> read = ((Deltas) RegistryMessage.fromBytes(message)).deltas();
        assertEquals(List.of(everything().deltas().get(0), new Unread(2), everything().deltas().get(2)), read);
    }

    @Test
    void aBlockOfAnotherNodeIsNotTheSendersToAnnounce() {
        byte[] message = new Deltas(A, 1, List.of(new Written(ref(new NodeId("b", 5), "x", 1, 0)))).toBytes();
        assertEquals(List.of(new Unread(2)), ((Deltas) RegistryMessage.fromBytes(message)).deltas());
        message = new Deltas(A, 1, List.of(new Written(ref(new NodeId("a", 76), "x", 1, 0)))).toBytes();
        assertEquals(List.of(new Unread(2)), ((Deltas) RegistryMessage.fromBytes(message)).deltas());
    }

    @Test
    void C48_whatIsNoMessageOfThisVersionIsOneError() {
        byte[] good = everything().toBytes();
        byte[] later = good.clone();
        later[2] = 2;
        for (byte[] bad : List.of(new byte[0], Arrays.copyOf(good, 30), Arrays.copyOf(good, good.length - 1),
                Arrays.copyOf(good, good.length + 1), later, new byte[10 << 20])) {
            MooncakeException e = assertThrows(MooncakeException.class, () -> RegistryMessage.fromBytes(bad));
            assertEquals(Kind.PROTOCOL_ERROR, e.kind(), e.getMessage());
        }
    }

    @Test
    void moreThanOneMessageHoldsIsRefusedAtTheSender() {
        Delta block = new Written(ref(A, "x", 1, 0));
        MooncakeException e = assertThrows(MooncakeException.class,
                () -> new Deltas(A, 1, Collections.nCopies(500, block)).toBytes());
        assertEquals(Kind.OUT_OF_BOUNDS, e.kind());
    }

    @Test
    void mutatedBytesAreAMessageOrOneError() {
        long seed = 4242;
        Random random = new Random(seed);
        int messages = 0;
        for (int i = 0; i < 60_000; i++) {
            byte[] bytes = (random.nextInt(4) == 0
                    ? new Snapshot(A, 7, 1, 3,
                            List.of(measured(1), room(), everything().deltas().getFirst(), measured(3)))
                    : everything()).toBytes();
            for (int flips = 1 + random.nextInt(4); flips > 0; flips--) {
                // Half of them where the lengths are.
                int at = random.nextBoolean() ? random.nextInt(bytes.length) : random.nextInt(72);
                bytes[at] = (byte) random.nextInt(256);
            }
            if (random.nextInt(8) == 0) {
                bytes = Arrays.copyOf(bytes, random.nextInt(bytes.length + 40));
            }
            try {
                RegistryMessage message = RegistryMessage.fromBytes(bytes);
                assertEquals(message, RegistryMessage.fromBytes(message.toBytes()), "seed " + seed + ", message " + i);
                messages++;
            } catch (MooncakeException e) {
                assertEquals(Kind.PROTOCOL_ERROR, e.kind(), () -> "seed " + seed + ": " + e);
            }
        }
        assertTrue(messages > 10_000, "most mutations leave a header that can be read: " + messages);
        assertInstanceOf(Deltas.class, RegistryMessage.fromBytes(everything().toBytes()));
    }
}
