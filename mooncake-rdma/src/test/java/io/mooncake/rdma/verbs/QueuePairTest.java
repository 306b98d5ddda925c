package io.mooncake.rdma.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Queue pairs of a real device: READ, SEND and RECV, and every way in which a request fails. */
@Tag("rdma")
class QueuePairTest {

    private static final int MIB = 1 << 20;

    @ParameterizedTest
    @ValueSource(ints = {1, 8, 63, 64, 4096, 4097, 65536, MIB})
    void shouldReadExactlyWhatWasAskedFor(int bytes) {
        try (LoopBack loop = new LoopBack()) {
            loop.target.fill((byte) 0x55);
            long offset = 12_345;
            loop.fillRead(77, offset, bytes, true);
            loop.post();
            assertEquals(List.of(new LoopBack.Ended(77, WorkStatus.SUCCESS, loop.reader.number(), bytes)),
                    loop.await(1));
            assertEquals(-1, loop.firstDifference(offset, bytes));
            assertEquals(0x55, loop.target.get(ValueLayout.JAVA_BYTE, offset - 1));
            assertEquals(0x55, loop.target.get(ValueLayout.JAVA_BYTE, offset + bytes));
        }
    }

    @Test
    void shouldReadABatchOfWhichOnlyTheLastIsSignalled() {
        try (LoopBack loop = new LoopBack()) {
            for (int round = 0; round < 3; round++) {
                loop.target.fill((byte) 0);
                for (int i = 0; i < 16; i++) {
                    loop.fillRead(i, (long) i * MIB, MIB, i == 15);
                }
                loop.post();
                assertEquals(15, loop.await(1).getFirst().cookie());
                assertEquals(-1, loop.firstDifference(0, LoopBack.BYTES));
            }
        }
    }

    /** Case C82: a key opens what it was made for, and that only, as long as it is registered. */
    @Test
    void shouldFailWithARemoteAccessErrorWhenTheKeyIsWrong() {
        try (LoopBack loop = new LoopBack()) {
            loop.ring.read(1, true)
                    .remote(loop.sourceRegion.address(), loop.sourceRegion.remoteKey() ^ 0x5500)
                    .local(loop.targetRegion.address(), 64, loop.targetRegion.localKey());
            loop.fillRead(2, 0, 64, true);
            loop.post();
            List<LoopBack.Ended> ended = loop.await(2);
            assertEquals(WorkStatus.REM_ACCESS_ERR, ended.get(0).status());
            assertEquals(WorkStatus.WR_FLUSH_ERR, ended.get(1).status());
            assertEquals(QueuePair.State.ERR, loop.reader.state());
        }
    }

    /** Case C82: a key opens what it was made for, and that only, as long as it is registered. */
    @Test
    void shouldFailWithARemoteAccessErrorPastTheEndOfTheRegion() {
        try (LoopBack loop = new LoopBack()) {
            loop.ring.read(1, true)
                    .remote(loop.sourceRegion.address() + LoopBack.BYTES - 63, loop.sourceRegion.remoteKey())
                    .local(loop.targetRegion.address(), 64, loop.targetRegion.localKey());
            loop.post();
            assertEquals(WorkStatus.REM_ACCESS_ERR, loop.await(1).getFirst().status());
        }
    }

    /** Case C82: a key opens what it was made for, and that only, as long as it is registered. */
    @Test
    void shouldRefuseAWriteIntoARegionThatIsForReading() {
        try (LoopBack loop = new LoopBack()) {
            loop.ring.write(1, true)
                    .remote(loop.sourceRegion.address(), loop.sourceRegion.remoteKey())
                    .local(loop.targetRegion.address(), 64, loop.targetRegion.localKey());
            loop.post();
            assertEquals(WorkStatus.REM_ACCESS_ERR, loop.await(1).getFirst().status());
            assertEquals(LoopBack.pattern(0), loop.source.get(ValueLayout.JAVA_LONG, 0));
        }
    }

    @Test
    void shouldFailHereWhenTheLocalKeyIsWrong() {
        try (LoopBack loop = new LoopBack()) {
            loop.ring.read(1, true)
                    .remote(loop.sourceRegion.address(), loop.sourceRegion.remoteKey())
                    .local(loop.targetRegion.address(), 64, loop.targetRegion.localKey() ^ 0x5500);
            loop.post();
            assertEquals(WorkStatus.LOC_PROT_ERR, loop.await(1).getFirst().status());
        }
    }

    @Test
    void shouldFlushEveryRequestWhenMovedToError() {
        // A peer that does not answer for 2 s keeps them outstanding.
        try (LoopBack loop = new LoopBack(new ConnectionSettings.Timers(16, 6, 6, 12))) {
            loop.owner.close();
            for (int i = 0; i < 16; i++) {
                loop.fillRead(i, (long) i * MIB, MIB, i == 15);
            }
            loop.post();
            loop.reader.toError();
            List<LoopBack.Ended> ended = loop.await(16);
            assertEquals(LongStream.range(0, 16).boxed().toList(), ended.stream().map(LoopBack.Ended::cookie).toList(),
                    "unsignalled ones, too");
            assertTrue(ended.stream().allMatch(e -> e.status() == WorkStatus.WR_FLUSH_ERR), ended::toString);
            loop.fillRead(99, 0, 64, true);
            loop.post();
            assertEquals(WorkStatus.WR_FLUSH_ERR, loop.await(1).getFirst().status(), "posted in ERR");
        }
    }

    @Test
    void shouldCompleteEveryRequestOnceWhenMovedToErrorInTheMiddle() {
        try (LoopBack loop = new LoopBack()) {
            for (int i = 0; i < 16; i++) {
                loop.fillRead(i, (long) i * MIB, MIB, true);
            }
            loop.post();
            loop.reader.toError();
            List<LoopBack.Ended> ended = loop.await(16);
            assertEquals(LongStream.range(0, 16).boxed().toList(), ended.stream().map(LoopBack.Ended::cookie).toList());
            long arrived = ended.stream().takeWhile(e -> e.status() == WorkStatus.SUCCESS).count();
            assertTrue(ended.stream().skip(arrived).allMatch(e -> e.status() == WorkStatus.WR_FLUSH_ERR),
                    ended::toString);
            assertEquals(-1, loop.firstDifference(0, arrived * MIB));
            assertEquals(QueuePair.State.ERR, loop.reader.state());
        }
    }

    /** What takes the place of destroying one that the device does not destroy. */
    @Test
    void shouldLetNothingLandAfterAReset() {
        for (int round = 0; round < 10; round++) {
            try (LoopBack loop = new LoopBack(); LoopBack other = new LoopBack(); Arena arena = Arena.ofConfined()) {
                for (int i = 0; i < 16; i++) {
                    loop.fillRead(i, (long) i * MIB, MIB, true);
                    other.fillRead(i, (long) i * MIB, MIB, true);
                }
                loop.post();
                loop.reader.toReset();
                loop.target.fill((byte) 0x77);
                // Meanwhile as much comes elsewhere.
                other.post();
                other.await(16);
                assertEquals(-1, loop.target.mismatch(arena.allocate(LoopBack.BYTES).fill((byte) 0x77)));
                assertEquals(QueuePair.State.RESET, loop.reader.state());
            }
        }
    }

    @Test
    void shouldRunOutOfRetriesWhenThePeerQueuePairIsGone() {
        try (LoopBack loop = new LoopBack(new ConnectionSettings.Timers(10, 3, 3, 12))) {
            loop.owner.close();
            loop.fillRead(1, 0, 64, true);
            loop.post();
            assertEquals(WorkStatus.RETRY_EXC_ERR, loop.await(1).getFirst().status());
        }
    }

    /** Case C82: a key opens what it was made for, and that only, as long as it is registered. */
    @Test
    void shouldFailWhenTheOwnerDeregistered() {
        try (LoopBack loop = new LoopBack()) {
            loop.sourceRegion.close();
            loop.fillRead(1, 0, 64, true);
            loop.post();
            assertEquals(WorkStatus.REM_ACCESS_ERR, loop.await(1).getFirst().status());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldDeliverAMessage(boolean inline) {
        try (LoopBack loop = new LoopBack()) {
            assertTrue(loop.owner.inlineBytes() >= 64);
            loop.owner.postReceive(7, loop.targetRegion.address(), 64, loop.targetRegion.localKey());
            loop.ring.send(8, true, inline)
                    .local(loop.sourceRegion.address(), 48, inline ? 0 : loop.sourceRegion.localKey());
            loop.post();
            List<LoopBack.Ended> ended = loop.await(2);
            assertTrue(ended.contains(new LoopBack.Ended(7, WorkStatus.SUCCESS, loop.owner.number(), 48)),
                    ended::toString);
            assertEquals(-1, loop.firstDifference(0, 48));
        }
    }

    @Test
    void shouldNoticeThatThePeerIsNotReadyToReceive() {
        try (LoopBack loop = new LoopBack(new ConnectionSettings.Timers(14, 6, 1, 12))) {
            loop.ring.send(8, true, false).local(loop.sourceRegion.address(), 48, loop.sourceRegion.localKey());
            loop.post();
            assertEquals(WorkStatus.RNR_RETRY_EXC_ERR, loop.await(1).getFirst().status());
        }
    }

    @Test
    void shouldSayThatTheDoorbellFailedWhenTheQueuePairIsNotReady() {
        try (LoopBack loop = new LoopBack();
                QueuePair fresh = loop.domain.newQueuePair(loop.queue, new QueuePair.Capacity(8, 8, 0))) {
            loop.fillRead(1, 0, 64, true);
            loop.fillRead(2, 0, 64, true);
            assertEquals(QueuePair.State.RESET, fresh.state());
            fresh.post(loop.ring);
            assertEquals(Errno.EINVAL, loop.ring.refusal());
            assertEquals(0, loop.ring.filled());
            loop.fillRead(3, 0, 64, true);
            loop.post();
            assertEquals(0, loop.ring.refusal());
            assertEquals(3, loop.await(1).getFirst().cookie(), "the ring is as good as before");
        }
    }

    @Test
    void shouldNameTheStateThatWasRefused() {
        try (LoopBack loop = new LoopBack();
                QueuePair fresh = loop.domain.newQueuePair(loop.queue, new QueuePair.Capacity(8, 8, 0))) {
            VerbsException refused = assertThrows(VerbsException.class,
                    () -> fresh.toReadyToSend(0, LoopBack.SETTINGS));
            assertEquals(Errno.EINVAL, refused.errno());
            assertTrue(String.valueOf(refused.getMessage()).contains("to RTS"), refused::toString);
        }
    }
}
