package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Region;
import io.mooncake.rdma.LaneMessage.Keys;
import io.mooncake.rdma.LaneMessage.Purpose;
import io.mooncake.rdma.verbs.Provider;
import io.mooncake.rdma.verbs.WorkStatus;
import io.mooncake.testing.EngineRig;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.ToIntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a landing region takes from writers that err, lie or vanish: the same over simulated cards and over real verbs. */
@Timeout(120)
abstract class LandingTest {
    /** One piece alone, so that whoever writes late meets the next one. */
    static final RdmaConfig.Limits ONE_PIECE = new RdmaConfig.Limits(4096, 1024, 4096,
            new RdmaConfig.Memory(64L << 30, 64 << 10, 64L << 30));

    private final List<RogueWriter> writers = new ArrayList<>();
    EngineRig rig;
    EngineRig.Side target;

    abstract EngineRig newRig(RdmaConfig.Limits limits);

    abstract MessageBus bus();

    abstract Provider provider(String host);

    @BeforeEach
    void open() {
        begin(RdmaConfig.defaults().limits());
    }

    @AfterEach
    void close() {
        writers.forEach(RogueWriter::close);
        rig.close();
    }

    void restart(RdmaConfig.Limits limits) {
        rig.close();
        begin(limits);
    }

    private void begin(RdmaConfig.Limits limits) {
        rig = newRig(limits);
        target = rig.side("target");
    }

    RogueWriter writer(String name) {
        RogueWriter writer = new RogueWriter(rig, bus(), provider(name), name);
        writers.add(writer);
        return writer.connect(target.id, Purpose.MESSAGES);
    }

    static byte[] message(char of, int length) {
        return String.valueOf(of).repeat(length).getBytes(StandardCharsets.UTF_8);
    }

    void assertDelivered(String... expected) {
        rig.until(() -> target.messages.size() >= expected.length);
        assertEquals(List.of(expected), target.messages);
    }

    void assertRefused(RogueWriter writer, long before) {
        rig.until(writer::isClosedByPeer);
        assertEquals(before + 1, target.count(Counter.PROTOCOL_ERRORS));
    }

    @Test
    void shouldDeliverWhatWasWrittenAndSealed() {
        RogueWriter writer = writer("a");
        byte[] message = message('x', 40_000);
        Frames.Grant grant = writer.ask().granted();
        writer.write(message, grant.address(), grant.key()).seal(grant, message).post();
        assertDelivered("a:" + "x".repeat(40_000));
        // The seal has asked for the next one.
        Frames.Grant next = writer.granted();
        assertNotEquals(grant.number(), next.number());
        assertEquals(grant.key(), next.key());
    }

    @Test
    void shouldRefuseAWriteWithAPoolsKey() {
        MemorySegment pool = rig.pattern(4096);
        Region region = target.register(pool, Access.GUARDED);
        RogueWriter reader = new RogueWriter(rig, bus(), provider("reader"), "reader");
        writers.add(reader);
        Keys keys = reader.connect(target.id, Purpose.READS).keys(target.id, region.id());
        RogueWriter writer = writer("writer");

        writer.write(message('x', 64), keys.address(), keys.keys().getFirst()).post();

        assertEquals(List.of(WorkStatus.REM_ACCESS_ERR), writer.ended());
        assertTrue(EngineRig.holdsPattern(pool, 0, 4096, 0));
    }

    /** The landing region's key is of no use on a lane that reads. */
    @Test
    void shouldRefuseAWriteOverALaneThatReads() {
        Frames.Grant grant = writer("writer").ask().granted();
        RogueWriter reader = new RogueWriter(rig, bus(), provider("reader"), "reader");
        writers.add(reader);
        reader.connect(target.id, Purpose.READS);

        reader.write(message('x', 64), grant.address(), grant.key()).post();

        assertTrue(Set.of(WorkStatus.REM_ACCESS_ERR, WorkStatus.REM_INV_REQ_ERR).contains(reader.ended().getFirst()),
                () -> reader.ended().toString());
    }

    @Test
    void shouldDetectAtTheSealWhatWasWrittenOutsideItsGrant() {
        RogueWriter honest = writer("honest");
        RogueWriter rogue = writer("rogue");
        byte[] message = message('h', 50_000);
        byte[] other = message('r', 50_000);
        Frames.Grant granted = honest.ask().granted();
        Frames.Grant own = rogue.ask().granted();
        assertNotEquals(granted.address(), own.address());
        honest.write(message, granted.address(), granted.key()).post().ended();
        long before = target.count(Counter.PROTOCOL_ERRORS);

        rogue.write(other, granted.address(), granted.key()).seal(own, other).post();
        assertRefused(rogue, before);
        honest.seal(granted, message).post();
        assertRefused(honest, before + 1);

        assertEquals(List.of(), target.messages);
    }

    @Test
    void shouldGiveNoGrantToAnotherUntilTheLaneOfAVanishedWriterIsInError() {
        restart(ONE_PIECE);
        RogueWriter gone = writer("gone");
        RogueWriter next = writer("next");
        byte[] message = message('n', 60_000);
        Frames.Grant lost = gone.ask().granted();
        next.ask();
        rig.settle();
        assertFalse(next.hasAnswer(), "there is one piece, and it is granted");

        rig.advance(LandingRegion.GRANT_NS);
        Frames.Grant granted = next.granted();
        assertEquals(lost.address(), granted.address());
        next.write(message, granted.address(), granted.key()).post().ended();
        gone.write(message('g', 60_000), lost.address(), lost.key()).post();
        assertNotEquals(WorkStatus.SUCCESS, gone.ended().getLast());
        next.seal(granted, message).post();

        assertDelivered("next:" + "n".repeat(60_000));
    }

    /** What is written after the seal is in nobody's message: the copy was made and checked, or is refused. */
    @Test
    void shouldNotBeChangedByWhatIsWrittenAfterTheSeal() {
        RogueWriter writer = writer("late");
        byte[] message = message('x', 30_000);
        Frames.Grant grant = writer.ask().granted();
        writer.write(message, grant.address(), grant.key())
                .seal(grant, message)
                .write(message('y', 30_000), 32_000, grant.address(), grant.key())
                .post();
        writer.ended();
        rig.settle();
        assertTrue(target.messages.isEmpty() || target.messages.equals(List.of("late:" + "x".repeat(30_000))));
        assertEquals(target.messages.isEmpty() ? 1 : 0, target.count(Counter.PROTOCOL_ERRORS));
    }

    @Test
    void shouldTakeAGrantBackThatWasSealedWithNothing() {
        restart(ONE_PIECE);
        RogueWriter first = writer("first");
        RogueWriter second = writer("second");
        Frames.Grant unused = first.ask().granted();
        second.ask();
        first.seal(unused, new byte[0]).post();
        long beforeNs = rig.nowNs();
        assertEquals(unused.address(), second.granted().address());
        assertTrue(rig.nowNs() - beforeNs < LandingRegion.GRANT_NS);
    }

    @Test
    void shouldCloseLanesThatSayWhatMustNotBe() {
        List<ToIntFunction<MemorySegment>> wrong = List.of(
                frame -> Frames.seal(frame, 0, 12345, 0, 0),
                frame -> Frames.answer(frame, 1),
                frame -> Frames.ask(frame) - 1,
                frame -> Frames.ask(frame) + 1,
                frame -> Frames.message(frame, 0, new byte[9]) - 1,
                frame -> {
                    frame.fill((byte) -1);
                    return 100;
                });
        for (int i = 0; i < wrong.size(); i++) {
            RogueWriter writer = writer("wrong" + i);
            writer.send(wrong.get(i)).post();
            assertRefused(writer, i);
        }
        RogueWriter twice = writer("twice");
        twice.send(Frames::ask).send(Frames::ask).post();
        assertRefused(twice, wrong.size());
        assertEquals(List.of(), target.messages);
    }
}
