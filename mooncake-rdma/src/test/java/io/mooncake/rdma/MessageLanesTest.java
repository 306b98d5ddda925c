package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Topic;
import io.mooncake.rdma.sim.SimulatedDevice;
import io.mooncake.rdma.verbs.WorkStatus;
import io.mooncake.testing.EngineRig;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Messages over simulated cards, and by the other engine when that fails: in order, each at most once. */
@Timeout(120)
final class MessageLanesTest {
    private static final int LONG = 65_536;

    private final Random random = new Random(11);
    private RdmaRig rig = new RdmaRig();
    private EngineRig.Side sender = rig.side("sender");
    private EngineRig.Side receiver = rig.side("receiver");
    private final List<String> sent = new ArrayList<>();

    @AfterEach
    void close() {
        rig.close();
    }

    private void restart(RdmaConfig.Limits limits) {
        rig.close();
        rig = new RdmaRig(2, RdmaRig.config().withLimits(limits));
        sender = rig.side("sender");
        receiver = rig.side("receiver");
    }

    private static SimulatedDevice card(RdmaRig of, EngineRig.Side side) {
        return of.host(side.id.name()).cards().getFirst();
    }

    private String text(int number) {
        int length = switch (random.nextInt(4)) {
            case 0 -> 1 + random.nextInt(40);
            case 1 -> 900 + random.nextInt(200);
            case 2 -> 1 + random.nextInt(LONG - 20);
            default -> 40 + random.nextInt(60);
        };
        return number + ":" + String.valueOf((char) ('a' + number % 26)).repeat(length);
    }

    /** Sends a message, as soon as it is taken. */
    private void send(String text) {
        rig.until(() -> rig.bus.send(sender.id, receiver.id, text));
        sent.add("sender:" + text);
    }

    private void assertAllArrive() {
        rig.until(() -> receiver.messages.size() == sent.size());
        assertEquals(sent, receiver.messages);
    }

    private boolean isCarried() {
        return sender.engine.carries(receiver.peer(), Topic.APPLICATION);
    }

    @Test
    void shouldCarryMessagesOfEveryLengthInOrder() {
        for (int i = 0; i < 2000; i++) {
            send(text(i));
            if (random.nextInt(8) == 0) {
                rig.cycle();
            }
        }
        assertAllArrive();
        assertTrue(isCarried());
        assertEquals(2000, receiver.count(Counter.MESSAGES_RECEIVED));
        assertTrue(card(rig, receiver).highestOccupancyPercent() < 30);
    }

    @Test
    void shouldMakeAMessageWaitThatWouldOvertakeOthers() {
        send("first");
        assertAllArrive();
        rig.freeze(receiver);
        int taken = 0;
        while (rig.bus.send(sender.id, receiver.id, "waits")) {
            sent.add("sender:waits");
            taken++;
        }
        assertTrue(taken > 100 && isCarried(), taken + " were taken");
        rig.thaw(receiver);
        send("last");
        assertAllArrive();
    }

    /** What was not posted goes by the other engine, in order and before what is sent afterwards; what was posted may be lost, never doubled. */
    @ParameterizedTest
    @EnumSource(value = WorkStatus.class, mode = EnumSource.Mode.EXCLUDE, names = "SUCCESS")
    void shouldGoOnByTheOtherEngineAfterEveryError(WorkStatus status) {
        for (int i = 0; i < 300; i++) {
            send(text(i));
            if (i == 150) {
                rig.until(() -> receiver.messages.size() > 20);
                card(rig, sender).failNext(status.ordinal());
            }
            if (i % 10 == 0) {
                rig.cycle();
            }
        }
        rig.until(() -> !isCarried());
        rig.settle();
        send("after");
        rig.until(() -> receiver.messages.getLast().equals("sender:after"));
        assertEquals(receiver.messages.size(), new HashSet<>(receiver.messages).size(), "none came twice");
        int lost = sent.size() - receiver.messages.size();
        assertTrue(lost <= OutgoingLane.CREDITS, lost + " were lost");
        List<String> inOrder = new ArrayList<>(sent);
        inOrder.retainAll(new HashSet<>(receiver.messages));
        assertEquals(inOrder, receiver.messages);
    }

    @Test
    void shouldUseTheOtherEngineWhereThePeerTakesNoMessages() {
        rig.configOf("deaf", RdmaRig.config()
                .withLimits(new RdmaConfig.Limits(16, 16, 16, new RdmaConfig.Memory(1L << 30, 0, 64L << 30))));
        receiver = rig.side("deaf");
        for (int i = 0; i < 50; i++) {
            send(text(i));
        }
        assertAllArrive();
        assertFalse(isCarried());
    }

    @Test
    void shouldUseTheOtherEngineWhenNobodyAnswers() {
        rig.bus.lose(1);
        send("one");
        rig.advance(3 * EngineRig.SECOND_NS);
        send("two");
        assertAllArrive();
        assertFalse(isCarried());
    }

    @Test
    void shouldSurviveTheLossOfEitherCard() {
        send(text(1));
        assertAllArrive();
        card(rig, receiver).fail();
        rig.until(() -> !isCarried());
        send(text(2));
        assertAllArrive();
        card(rig, receiver).recover();
        card(rig, sender).fail();
        card(rig, sender).recover();
        rig.advance(3 * EngineRig.SECOND_NS);
        rig.settle();
        send(text(3));
        assertAllArrive();
        Region source = receiver.register(rig.pattern(4096), Access.READABLE);
        EngineRig.Reading reading = sender.read(receiver, source, 0, 4096, sender.own(rig.filled(4096, (byte) 0)));
        rig.until(reading::ended);
        assertEquals(ReadStatus.OK, reading.status);
    }

    @Test
    void shouldReachANewLifeOfAPeer() {
        send("to the first");
        assertAllArrive();
        rig.stop(receiver);
        rig.sides().remove(receiver);
        sent.clear();
        receiver = rig.side(new NodeId("receiver", 2000));
        send("to the second");
        assertAllArrive();
        assertTrue(isCarried());
    }

    @Test
    void shouldGiveAGrantBackThatItDoesNotUse() {
        restart(LandingTest.ONE_PIECE);
        send("x".repeat(LONG));
        assertAllArrive();
        EngineRig.Side another = rig.side("another");
        assertTrue(rig.bus.send(another.id, receiver.id, "y".repeat(LONG)));
        sent.add("another:" + "y".repeat(LONG));
        rig.settle();
        assertEquals(1, receiver.messages.size(), "the one piece is granted");
        rig.advance(LandingRegion.GRANT_NS / 2);
        assertAllArrive();
        rig.advance(LandingRegion.GRANT_NS / 2);
        rig.settle();
        send("z".repeat(LONG));
        assertAllArrive();
        assertTrue(isCarried());
        assertEquals(0, receiver.count(Counter.PROTOCOL_ERRORS));
    }

    @Test
    void shouldServeManySendersWithFewGrants() {
        restart(new RdmaConfig.Limits(64, 64, 64, new RdmaConfig.Memory(1L << 30, 3 * LONG, 64L << 30)));
        List<EngineRig.Side> senders = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            senders.add(rig.side("s" + i));
        }
        for (int round = 0; round < 20; round++) {
            for (EngineRig.Side one : senders) {
                String text = round + " ".repeat(LONG - 10);
                rig.until(() -> rig.bus.send(one.id, receiver.id, text));
            }
        }
        rig.until(() -> receiver.messages.size() == 20 * senders.size());
        for (EngineRig.Side one : senders) {
            List<String> rounds = receiver.messages.stream()
                    .filter(message -> message.startsWith(one.id.name() + ":"))
                    .map(message -> message.substring(one.id.name().length() + 1).strip())
                    .toList();
            assertEquals(20, rounds.size());
            for (int round = 0; round < 20; round++) {
                assertEquals("" + round, rounds.get(round));
            }
        }
    }

    /** Packets of a WRITE come again after its SEAL: no message is made of them. */
    @Test
    void shouldDeliverNothingElseWhenPacketsComeAgainLate() {
        restart(LandingTest.ONE_PIECE);
        card(rig, sender).doubleWrites();
        for (int i = 0; i < 300; i++) {
            send(String.valueOf((char) ('a' + i % 26)).repeat(LONG - i));
            for (int cycles = random.nextInt(20); cycles > 0; cycles--) {
                rig.cycle();
            }
        }
        rig.settle();
        assertTrue(sent.containsAll(receiver.messages));
        assertEquals(receiver.messages.size(), new HashSet<>(receiver.messages).size());
        assertFalse(receiver.messages.isEmpty());
    }

    /** A lane that nothing is sent by breaks by nothing: who is dead is to be said. */
    @Test
    void shouldGiveBackTheLaneToAPeerThatIsDead() {
        send("first");
        assertAllArrive();
        assertEquals(1, rig.host("sender").queuePairs());
        rig.freeze(receiver);
        sender.engine.onPeerDead(receiver.id, "its host is on fire");
        rig.settle();
        assertEquals(0, rig.host("sender").queuePairs());
        assertFalse(isCarried());
        rig.thaw(receiver);
        send("it was not");
        assertAllArrive();
    }

    /** Nodes come and go under ever new names: those that went take no place of those that come. */
    @Test
    void shouldCarryMessagesToNewPeersHoweverManyHaveDied() {
        RdmaConfig.Limits limits = RdmaConfig.defaults().limits();
        restart(new RdmaConfig.Limits(limits.reads(), 3, limits.served(), limits.memory()));
        for (int i = 0; i < 8; i++) {
            receiver = rig.side("one" + i);
            sent.clear();
            send("hello");
            assertAllArrive();
            assertTrue(isCarried(), receiver.id::toString);
            rig.stop(receiver);
            rig.sides().remove(receiver);
            sender.engine.onPeerDead(receiver.id, "it has left");
            rig.settle();
        }
    }

    /** Whether what was posted is done is unknown then, and nothing says that it is not. */
    @Test
    void shouldLeaveALaneWhoseDoorbellFailed() {
        send("first");
        assertAllArrive();
        card(rig, sender).failDoorbells(1);
        send("may be lost");
        rig.settle();
        assertFalse(isCarried());
        send("last");
        rig.until(() -> receiver.messages.getLast().equals("sender:last"));
    }
}
