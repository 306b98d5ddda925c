package io.mooncake.core.transfer.shm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Route.Health;
import io.mooncake.core.transfer.SharedBlock;
import io.mooncake.core.transfer.Topic;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import io.mooncake.testing.EngineRig.Side;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The engine by hand: one thread runs both nodes' pollers, on a clock of its own. */
class SharedMemoryEngineTest {
    private static final long BYTES = 64 << 20;
    private static final long GUARDS = 4 * 64;
    private static final long GUARD = 42;
    private static final byte REFILL = 0x77;

    private final Arena arena = Arena.ofShared();
    private final EngineRig rig;
    private final Side owner;
    private final Side reader;
    private final SharedMemory memory;
    private final MemorySegment slots;
    private final MemorySegment guards;
    private final Region source;

    SharedMemoryEngineTest(@TempDir Path parent) {
        Map<NodeId, SharedMemory> made = new HashMap<>();
        rig = new EngineRig() {
            @Override
            protected TransferEngine engine(EngineContext context) {
                if (context.self().name().equals("reader")) {
                    return new SharedMemoryTransferEngine(context, null);
                }
                SharedMemory own = SharedMemory.create(parent, context.self(), BYTES + SharedMemory.PAGE, this::nowNs);
                made.put(context.self(), own);
                return new SharedMemoryTransferEngine(context, own);
            }
        };
        owner = rig.side("owner");
        reader = rig.side("reader");
        memory = Objects.requireNonNull(made.get(owner.id));
        slots = memory.reserve(BYTES, 4096, arena);
        guards = memory.reserve(GUARDS, 4096, arena);
        slots.fill((byte) 5);
        guards.set(ValueLayout.JAVA_LONG, 64, GUARD);
        source = owner.register(slots, Access.GUARDED);
        memory.publish(source.id());
    }

    @AfterEach
    void close() {
        rig.close();
        memory.close();
        arena.close();
    }

    private void mapped() {
        rig.until(() -> isMapped(owner.peer()));
    }

    private boolean isMapped(Peer peer) {
        return reader.engine.route(peer, source.id()).health() == Health.READY;
    }

    private Reading read(long offset, long length, long guardOffset, Region into) {
        Reading reading = new Reading();
        reading.read.from(owner.peer(), source.id(), offset, length)
                .guardedBy(guardOffset, GUARD)
                .into(into, 0)
                .by(rig.nowNs() + 1000);
        return reader.submit(reading);
    }

    private Reading ended(Reading reading) {
        rig.until(reading::ended);
        assertEquals(1, reading.ends);
        return reading;
    }

    private static boolean isTouched(MemorySegment to) {
        return to.get(ValueLayout.JAVA_BYTE, 0) != EngineRig.FILL;
    }

    @Test
    void nothingIsOpenedByWhoAsksAndTcpIsTakenUntilItIsKnown() {
        assertFalse(isMapped(owner.peer()));
        assertEquals(Health.UNKNOWN, reader.engine.route(owner.peer(), source.id()).health());
        Reading early = read(0, 8, 64, reader.own(rig.filled(8, EngineRig.FILL)));
        assertEquals(ReadStatus.UNREACHABLE, early.status, "whoever reads all the same is told at once");
        reader.engine.poller().doWork();
        assertTrue(isMapped(owner.peer()));
        assertEquals(Health.READY, reader.engine.route(owner.peer(), source.id()).health());
        assertFalse(reader.engine.route(owner.peer(), source.id() + 1).registered());
    }

    @Test
    void bothSidesBoundsAreChecked() {
        mapped();
        MemorySegment to = rig.filled(64, EngineRig.FILL);
        Region into = reader.own(to);
        long[][] refused = {{Long.MAX_VALUE - 7, 16, 64}, {BYTES - 6, 7, 64}, {-1, 1, 64}, {0, -1, 64}, {0, 65, 64},
                {0, 1, 63}, {0, 1, GUARDS}, {0, 1, -64}, {0, 1, Long.MAX_VALUE - 63}};
        for (long[] range : refused) {
            Reading reading = ended(read(range[0], range[1], range[2], into));
            assertEquals(ReadStatus.REFUSED, reading.status, () -> reading.read.toString());
            assertEquals(Kind.OUT_OF_BOUNDS, reading.cause().kind());
        }
        Reading other = new Reading();
        other.read.from(owner.peer(), source.id() + 1, 0, 8).guardedBy(64, GUARD).into(into, 0).by(Long.MAX_VALUE);
        assertEquals(ReadStatus.REFUSED, ended(reader.submit(other)).status);
        assertTrue(EngineRig.isFilled(to, EngineRig.FILL));
        assertEquals(ReadStatus.OK, ended(read(BYTES - 64, 64, 64, into)).status);
        assertEquals(ReadStatus.STALE, ended(read(0, 64, 128, into)).status, "another guard");
    }

    @Test
    void whatChangesWhileItIsCopiedIsNeverProven() {
        mapped();
        MemorySegment to = rig.filled(BYTES, EngineRig.FILL);
        Reading reading = read(0, BYTES, 64, reader.own(to));
        rig.until(() -> isTouched(to));
        guards.set(ValueLayout.JAVA_LONG, 64, GUARD + 1);
        slots.fill((byte) 6);
        assertEquals(ReadStatus.STALE, ended(reading).status);
    }

    /** A CPU copy cannot land late: the end is reported when the last byte is there. */
    @Test
    void givenUpInTheMiddleNothingLandsAfterTheEnd() {
        mapped();
        MemorySegment to = rig.filled(BYTES, EngineRig.FILL);
        Region into = reader.own(to);
        for (boolean byDeadline : new boolean[]{false, true}) {
            to.fill(EngineRig.FILL);
            Reading reading = read(0, BYTES, 64, into);
            reading.onEnd = () -> to.fill(REFILL);
            rig.until(() -> isTouched(to));
            assertFalse(reading.ended());
            if (byDeadline) {
                rig.advance(1000);
            } else {
                reading.givenUp = true;
                reader.engine.abort(reading.read);
            }
            assertEquals(byDeadline ? ReadStatus.TIMED_OUT : ReadStatus.CANCELED, ended(reading).status);
            rig.settle();
            assertTrue(EngineRig.isFilled(to, REFILL), "a byte landed after the end");
        }
    }

    @Test
    void anOwnerThatClosesInTheMiddleIsUnreachableAndItsReasonIsKept() {
        mapped();
        MemorySegment to = rig.filled(BYTES, EngineRig.FILL);
        Region into = reader.own(to);
        Reading reading = read(0, BYTES, 64, into);
        rig.until(() -> isTouched(to));
        memory.close();
        assertEquals(ReadStatus.UNREACHABLE, ended(reading).status);
        assertEquals(Kind.PEER_UNREACHABLE, reading.cause().kind());
        rig.advance(PeerMemories.TICK_NS);
        rig.cycle();
        assertFalse(isMapped(owner.peer()));
        assertEquals("the node has closed", reader.engine.route(owner.peer(), source.id()).reason());
        assertEquals(ReadStatus.UNREACHABLE, ended(read(0, 8, 64, into)).status);
        rig.advance(10_000_000_000L);
        rig.cycle();
        assertTrue(reader.engine.route(owner.peer(), source.id()).reason().contains("no such file"), "tried again");
    }

    @Test
    void anotherLifeOfTheNodeIsAnotherFile() {
        mapped();
        Peer other = owner.peer(new NodeId(owner.id.name(), owner.id.incarnation() + 1));
        assertFalse(isMapped(other));
        rig.settle();
        assertFalse(isMapped(other));
        assertTrue(reader.engine.route(other, source.id()).reason().contains("no such file"));
        assertTrue(isMapped(owner.peer()));
    }

    @Test
    void aViewIsRefusedUntilItsOwnerAsksTheTable() {
        mapped();
        SharedMemoryTransferEngine engine = (SharedMemoryTransferEngine) reader.engine;
        assertNull(engine.pin(owner.peer(), source.id(), 64, GUARD, 0, 8), "there is no table yet");
        rig.freeze(owner);
        rig.settle();
        rig.advance(PeerMemories.TICK_NS);
        rig.settle();
        assertNull(engine.pin(owner.peer(), source.id(), 64, GUARD, 0, 8), "the owner does not know it yet");
        assertFalse(memory.pins().isPinned(64));
        rig.thaw(owner);
        rig.settle();
        SharedBlock block = engine.pin(owner.peer(), source.id(), 64, GUARD, 8, 16);
        assertNotNull(block);
        assertEquals(16, block.segment().byteSize());
        assertEquals(5, block.segment().get(ValueLayout.JAVA_BYTE, 0));
        assertTrue(memory.pins().isPinned(64));
        assertFalse(memory.pins().isPinned(128));
        assertEquals(block, engine.pin(owner.peer(), source.id(), 64, GUARD, 8, 16), "the same object, nothing new");
        block.unpin();
        assertTrue(memory.pins().isPinned(64), "pinned twice");
        block.unpin();
        assertFalse(memory.pins().isPinned(64));
        assertNull(engine.pin(owner.peer(), source.id(), 64, GUARD + 1, 8, 16), "another guard");
        assertNull(engine.pin(owner.peer(), source.id(), 65, GUARD, 8, 16));
        assertNull(engine.pin(owner.peer(), source.id(), 64, GUARD, BYTES - 8, 16));
        assertNull(engine.pin(owner.peer(), source.id() + 1, 64, GUARD, 8, 16));
        assertFalse(memory.pins().isPinned(64), "what was refused left no pin");
    }

    @Test
    void messagesAreNotItsBusiness() {
        mapped();
        assertFalse(reader.engine.send(owner.peer(), Topic.APPLICATION, EngineRig.utf8("x")));
    }
}
