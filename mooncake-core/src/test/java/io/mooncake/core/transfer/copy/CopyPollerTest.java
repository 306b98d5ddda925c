package io.mooncake.core.transfer.copy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.Waiter;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Priority;
import io.mooncake.core.transfer.ReadListener;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.RegionTable;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class CopyPollerTest implements ReadListener, ChunkSource {
    private static final NodeId SELF = new NodeId("a", 1);
    private static final Peer PEER = new Peer(new NodeId("b", 2), Map.of());
    private static final long CHUNK = CopyPoller.CHUNK_BYTES;
    private static final long LENGTH = 4 * CHUNK;

    private final Arena arena = Arena.ofShared();
    private final MemorySegment source = arena.allocate(LENGTH);
    private final MemorySegment memory = arena.allocate(LENGTH);
    private final Waiter never = (done, deadlineNs) -> done.getAsBoolean();
    private final Region region = new RegionTable(SELF, never, () -> 0, 0).register(Memory.of(memory),
            Access.LOCAL_ONLY);
    private long nowNs;
    private final CopyPoller poller = new CopyPoller("copy", this, () -> nowNs, null);

    private final List<String> ended = new ArrayList<>();
    private final List<Integer> copied = new ArrayList<>();
    private final Set<Integer> givenUp = new HashSet<>();
    private Runnable afterChunk = () -> {};
    private @Nullable MooncakeException refusal;
    private ReadStatus answer = ReadStatus.OK;

    @AfterEach
    void close() {
        arena.close();
    }

    @Override
    public void onReadEnded(GuardedRead read, ReadStatus status) {
        ended.add(read.index() + " " + status + " " + read.received / CHUNK);
    }

    @Override
    public boolean isGivenUp(GuardedRead read) {
        return givenUp.contains(read.index());
    }

    @Override
    public @Nullable MooncakeException refusal(GuardedRead read) {
        return refusal;
    }

    @Override
    public ReadStatus copy(GuardedRead read, long length) {
        CopyPoller.copy(read, source, length);
        copied.add(read.index());
        afterChunk.run();
        return answer;
    }

    private GuardedRead read(int index, long length) {
        return new GuardedRead(this, index).from(PEER, 1, 0, length).into(region, 0).by(100);
    }

    private void run() {
        while (poller.doWork() > 0) {
            // Again.
        }
    }

    @Test
    void smallReadsAreOverWhenSubmitReturnsAndLargeOnesNot() {
        source.fill((byte) 3);
        assertTrue(poller.submit(read(1, CopyPoller.INLINE_BYTES)));
        assertEquals(List.of("1 OK 0"), ended);
        assertTrue(poller.submit(read(2, LENGTH)));
        assertEquals(1, ended.size());
        run();
        assertEquals(List.of("1 OK 0", "2 OK 4"), ended);
        assertEquals(-1, memory.mismatch(source));
    }

    /** Late landing does not exist for copies: the end of a chunk is reported when its bytes are there. */
    @Test
    void noByteLandsAfterAReadThatWasGivenUpHasEnded() {
        source.fill((byte) 3);
        poller.submit(read(1, LENGTH));
        afterChunk = () -> givenUp.add(1);
        run();
        assertEquals(List.of("1 CANCELED 1"), ended);
        memory.fill((byte) 9);
        afterChunk = () -> {};
        poller.submit(read(2, 0));
        run();
        assertEquals(9, memory.get(ValueLayout.JAVA_BYTE, 0));
        assertEquals(9, memory.get(ValueLayout.JAVA_BYTE, 2 * CHUNK));
        assertEquals(List.of(1, 2), copied, "one chunk of the read that was given up, and no more");
    }

    @Test
    void theLastChunkTakesALittleMoreRatherThanLeavingALittle() {
        poller.submit(read(1, 2 * CHUNK + CHUNK / 2 - 1));
        poller.submit(read(2, 2 * CHUNK + CHUNK / 2));
        run();
        assertEquals(List.of(1, 2, 1, 2, 2), copied);
    }

    @Test
    void aDeadlineIsLookedAtBetweenChunks() {
        poller.submit(read(1, LENGTH));
        afterChunk = () -> nowNs += 40;
        run();
        assertEquals(List.of("1 TIMED_OUT 3"), ended);
    }

    @Test
    void chunksOfReadsTakeTurnsAndBackgroundWaitsForLoads() {
        poller.submit(read(9, 2 * CHUNK).withPriority(Priority.BACKGROUND));
        poller.submit(read(1, 2 * CHUNK));
        poller.submit(read(2, 2 * CHUNK));
        run();
        assertEquals(List.of(1, 2, 1, 2, 9, 9), copied);
    }

    /** A load may wait for the room that a demotion makes, which goes in the background. */
    @Test
    void oneChunkInEightIsOfTheBackgroundHoweverManyLoadsThereAre() {
        poller.submit(read(8, 2 * CHUNK).withPriority(Priority.BACKGROUND));
        poller.submit(read(9, 2 * CHUNK).withPriority(Priority.BACKGROUND));
        for (int i = 0; i < 24; i++) {
            poller.submit(read(1, CHUNK + CHUNK / 4));
        }
        for (int i = 0; i < 24; i++) {
            poller.doWork();
            // There is always another one.
            poller.submit(read(1, CHUNK + CHUNK / 4));
        }
        assertEquals(List.of(8, 9, 8), copied.stream().filter(number -> number > 1).toList());
        assertEquals(List.of(7, 15, 23), IntStream.range(0, 24).filter(i -> copied.get(i) > 1).boxed().toList());
    }

    @Test
    void aBackgroundReadWhoseTurnDoesNotComeEndsByItsDeadline() {
        poller.submit(read(9, 2 * CHUNK).withPriority(Priority.BACKGROUND));
        poller.submit(read(1, LENGTH).by(1000));
        poller.submit(read(2, LENGTH).by(1000));
        poller.doWork();
        assertEquals(List.of(), ended);
        nowNs = 100;
        poller.doWork();
        assertEquals(List.of("9 TIMED_OUT 0"), ended);
        assertFalse(copied.contains(9));
    }

    @Test
    void aLostPeerIsUnreachableAndWhatIsWrongIsRefused() {
        refusal = new MooncakeException(Kind.PEER_UNREACHABLE, "gone");
        poller.submit(read(1, 8));
        refusal = new MooncakeException(Kind.OUT_OF_BOUNDS, "too long");
        poller.submit(read(2, 8));
        refusal = null;
        poller.submit(read(3, 8).into(region, LENGTH - 4));
        answer = ReadStatus.STALE;
        poller.submit(read(4, 8));
        assertEquals(List.of("1 UNREACHABLE 0", "2 REFUSED 0", "3 REFUSED 0", "4 STALE 0"), ended);
    }

    @Test
    void closingEndsEveryRead() {
        poller.submit(read(1, LENGTH));
        poller.submit(read(2, LENGTH).withPriority(Priority.BACKGROUND));
        poller.doWork();
        poller.submit(read(3, LENGTH));
        poller.onClose();
        assertEquals(List.of("1 CANCELED 1", "2 CANCELED 0", "3 CANCELED 0"), ended);
        assertFalse(poller.submit(read(4, 8)));
    }
}
