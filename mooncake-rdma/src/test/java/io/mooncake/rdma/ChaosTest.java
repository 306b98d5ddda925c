package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.rdma.sim.SimulatedDevice;
import io.mooncake.rdma.sim.SimulatedTiming;
import io.mooncake.rdma.verbs.WorkStatus;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import io.mooncake.testing.EngineRig.Side;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Nodes with two cards each read from each other and send messages while cards, links and messages fail in every way that a simulated card
 * has, by a seed. Every read ends once and in time, those that succeed have the right bytes, and nothing lands after an end; messages come
 * in order and at most once; in the end everything works again, and nothing is left on the cards.
 */
@Timeout(600)
final class ChaosTest {
    private static final int SEEDS = 12;
    private static final int MANY_SEEDS = 400;
    private static final int NODES = 3;
    private static final int STEPS = 300;
    private static final int SOURCE_BYTES = 300_000;
    private static final byte REFILL = 0x77;
    /** What is late in a duty cycle, and what a card's look takes. */
    private static final long SLACK_NS = 20_000_000;

    private final List<Reading> active = new ArrayList<>();
    private final List<MemorySegment> ended = new ArrayList<>();
    private final List<Side> nodes = new ArrayList<>();
    private final List<Region> sources = new ArrayList<>();
    private Random random = new Random(0);
    private RdmaRig rig;
    private int messages;
    /** Whether cards refuse to take things back, instead of being lost. */
    private boolean refusing;

    ChaosTest() {
        rig = new RdmaRig();
    }

    @Test
    void shouldKeepItsPromisesWhateverFails() {
        runSeeds(SEEDS);
    }

    @Test
    @Tag("full")
    void shouldKeepItsPromisesForManySeeds() {
        runSeeds(MANY_SEEDS);
    }

    private void runSeeds(int seeds) {
        for (long seed = 1; seed <= seeds; seed++) {
            try {
                run(seed);
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
            }
        }
    }

    private void run(long seed) {
        rig.close();
        random = new Random(seed);
        refusing = seed % 2 == 0;
        rig = new RdmaRig(seed, RdmaRig.config().withWindow(new RdmaConfig.Window(3, 16 << 10, 64 << 10, 4, 24)));
        active.clear();
        ended.clear();
        nodes.clear();
        sources.clear();
        for (int i = 0; i < NODES; i++) {
            rig.host("n" + i).addDevice("sim1", 0x0A4E_0000 + i);
            nodes.add(rig.side("n" + i));
            sources.add(nodes.get(i).register(rig.pattern(SOURCE_BYTES), Access.READABLE));
        }
        for (int step = 0; step < STEPS; step++) {
            if (random.nextInt(3) > 0) {
                read();
            } else if (random.nextBoolean()) {
                fail();
            } else {
                Side to = nodes.get(random.nextInt(NODES));
                Side from = other(to);
                rig.bus.send(from.id, to.id, ++messages + ":" + "x".repeat(random.nextInt(3000)));
            }
            for (int cycles = random.nextInt(60); cycles > 0; cycles--) {
                rig.cycle();
            }
            giveUpSome();
        }
        heal();
        within(20, active::isEmpty, "reads have not ended");
        // Cards come back, what never opened is given up, and what was given up has cooled down.
        for (int i = 0; i < 3; i++) {
            rig.advance(3 * EngineRig.SECOND_NS);
            rig.settle();
        }
        assertEverythingWorks();
        ended.forEach(to -> assertTrue(EngineRig.isFilled(to, REFILL), "a byte landed after the end"));
        for (Side node : nodes) {
            for (Side from : nodes) {
                assertInOrder(node.messages.stream().filter(text -> text.startsWith(from.id.name() + ":")).toList());
            }
        }
        rig.close();
        rig = new RdmaRig();
    }

    /** Of a message: {@code sender:number:text}. */
    private static Integer numberOf(String message) {
        int from = message.indexOf(':') + 1;
        return Integer.valueOf(message.substring(from, message.indexOf(':', from)));
    }

    private static void assertInOrder(List<String> texts) {
        List<Integer> numbers = texts.stream().map(ChaosTest::numberOf).toList();
        assertEquals(numbers.stream().sorted().toList(), numbers, "messages overtook each other");
        assertEquals(numbers.size(), new HashSet<>(numbers).size(), "a message came twice");
    }

    private void within(int seconds, BooleanSupplier done, String otherwise) {
        long lastNs = rig.nowNs() + seconds * EngineRig.SECOND_NS;
        rig.until(() -> done.getAsBoolean() || rig.nowNs() - lastNs > 0);
        assertTrue(done.getAsBoolean(), otherwise);
    }

    private Side other(Side than) {
        return nodes.get((nodes.indexOf(than) + 1 + random.nextInt(NODES - 1)) % NODES);
    }

    private Reading read() {
        Side owner = nodes.get(random.nextInt(NODES));
        return read(owner, other(owner), random.nextInt(4) == 0 ? 5_000_000 : 10 * EngineRig.SECOND_NS);
    }

    private Reading read(Side owner, Side reader, long timeoutNs) {
        int length = 1 + (random.nextBoolean() ? random.nextInt(10_000) : random.nextInt(SOURCE_BYTES));
        long offset = random.nextInt(SOURCE_BYTES - length + 1);
        MemorySegment to = rig.filled(length, EngineRig.FILL);
        Region into = reader.own(to);
        Reading reading = new Reading();
        long deadlineNs = rig.nowNs() + timeoutNs;
        reading.read.from(owner.peer(), sources.get(nodes.indexOf(owner)).id(), offset, length)
                .into(into, 0)
                .by(deadlineNs);
        reading.onEnd = () -> {
            assertEquals(1, reading.ends);
            long boundNs = RdmaTransferEngine.machine(rig.config).times().endBoundNs() + SLACK_NS;
            assertTrue(rig.nowNs() - deadlineNs <= boundNs,
                    () -> rig.nowNs() - deadlineNs + " ns after its deadline");
            if (reading.status == ReadStatus.OK) {
                assertTrue(EngineRig.holdsPattern(to, 0, length, offset), "wrong bytes");
            }
            to.fill(REFILL);
            ended.add(to);
            active.remove(reading);
        };
        active.add(reading);
        return reader.submit(reading);
    }

    private void giveUpSome() {
        for (Reading reading : List.copyOf(active)) {
            if (random.nextInt(12) == 0) {
                reading.givenUp = true;
                nodes.forEach(node -> node.engine.abort(reading.read));
            }
        }
    }

    private SimulatedDevice someCard() {
        return rig.host("n" + random.nextInt(NODES)).cards().get(random.nextInt(2));
    }

    private void fail() {
        SimulatedDevice card = someCard();
        Side one = nodes.get(random.nextInt(NODES));
        Side other = other(one);
        long later = random.nextLong(20_000_000);
        // A lost card may keep for ever what it refuses to take back.
        int kind = random.nextInt(14);
        switch (kind < 2 && refusing ? kind + 2 : kind) {
            case 0 -> {
                card.fail();
                rig.time.after(later, card::recover);
            }
            case 1 -> card.breakQueues();
            case 2 -> card.refuseDestroys(refusing ? 1 + random.nextInt(4) : 0);
            case 3 -> card.refuseDeregistrations(refusing ? 1 + random.nextInt(4) : 0);
            case 4 -> {
                card.portDown();
                rig.time.after(later, card::portUp);
            }
            case 5 -> card.changeAddress(0x0A4F_0000 + random.nextInt(1 << 16));
            case 6 -> card.refusePosts(1 + random.nextInt(5));
            case 7 -> card.failDoorbells(1 + random.nextInt(2));
            case 8 -> {
                rig.network.cut(one.id.name(), other.id.name());
                rig.time.after(later, () -> rig.network.heal(one.id.name(), other.id.name()));
            }
            case 9 -> rig.bus.lose(1 + random.nextInt(6));
            case 10 -> one.engine.onPeerDead(other.id, "it is said");
            case 11 -> rig.network.timing(new SimulatedTiming(1 + random.nextInt(200_000), 1 + random.nextInt(200_000),
                    1 + random.nextInt(20_000), 1 + random.nextInt(6), 1 + random.nextInt(200_000),
                    random.nextInt(101)));
            default -> card.failNext(1 + random.nextInt(WorkStatus.values().length - 2));
        }
    }

    private void heal() {
        rig.bus.lose(0);
        rig.network.timing(SimulatedTiming.defaults());
        for (Side one : nodes) {
            nodes.forEach(other -> rig.network.heal(one.id.name(), other.id.name()));
            for (SimulatedDevice card : rig.host(one.id.name()).cards()) {
                card.recover();
                card.portUp();
                card.refusePosts(0);
                card.failDoorbells(0);
                card.refuseDestroys(0);
                card.refuseDeregistrations(0);
                card.failNext(0);
            }
        }
    }

    /** Every node reads from every other one, by the cards. */
    private void assertEverythingWorks() {
        for (Side owner : nodes) {
            for (Side reader : nodes) {
                if (!owner.equals(reader)) {
                    Reading last = read(owner, reader, 10 * EngineRig.SECOND_NS);
                    within(20, last::ended, "not read");
                    assertEquals(ReadStatus.OK, last.status, () -> last.read + ": " + last.read.cause());
                }
            }
        }
    }
}
