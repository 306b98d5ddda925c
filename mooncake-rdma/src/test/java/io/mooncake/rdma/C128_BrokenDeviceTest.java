package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.rdma.sim.SimulatedDevice;
import io.mooncake.rdma.sim.SimulatedProvider;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Cases C128 and C137: devices that are not there or cannot be opened. One of several is left out, the others keep their own keys, and it is used
 * when it is there; without any the engine says why, and a node that would only like to have it does without.
 */
@Timeout(120)
final class C128_BrokenDeviceTest {
    private static final long BYTES = 3 << 20;

    private static void assertReads(RdmaRig rig, EngineRig.Side reader, EngineRig.Side owner) {
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        MemorySegment to = rig.filled(BYTES, EngineRig.FILL);
        Region into = reader.own(to);
        Reading reading = reader.read(owner, source, 0, BYTES, into);
        rig.until(reading::ended);
        assertEquals(ReadStatus.OK, reading.status, () -> reading.cause().getMessage());
        assertTrue(EngineRig.holdsPattern(to, 0, BYTES, 0));
        into.close();
        source.close();
    }

    @Test
    void shouldRunOnTheOthersWithTheirOwnKeysWhenOneCannotBeOpened() {
        try (RdmaRig rig = new RdmaRig()) {
            SimulatedDevice second = rig.host("owner").addDevice("sim1", 0x0A4D_0101);
            SimulatedDevice third = rig.host("owner").addDevice("sim2", 0x0A4D_0201);
            second.fail();
            rig.poolOf("owner", rig.pattern(4096));
            EngineRig.Side owner = rig.side("owner");
            assertEquals(2, owner.peer().addresses().getOrDefault("rdma", "").split(",", -1).length, "two addresses");
            assertEquals(0, second.registered());
            assertTrue(third.registered() > 0);
            EngineRig.Side reader = rig.side("reader");
            // Over the first one and the third: were keys mixed up, the peer would refuse them.
            assertReads(rig, reader, owner);
            rig.host("owner").cards().getFirst().portDown();
            rig.settle();
            assertReads(rig, reader, owner);

            second.recover();
            rig.advance(3 * EngineRig.SECOND_NS);
            rig.settle();
            assertTrue(second.registered() > 0, "it is used when it is there");
        }
    }

    /** C137's host: a card that is left out shifts no other one's number, and each of the others brings bytes alone. */
    @Test
    void shouldUseEachOfTenCardsButThoseThatCannotBeOpened() {
        RdmaConfig config = RdmaRig.config().withWindow(new RdmaConfig.Window(10, 1 << 20, 4 << 20, 16, 512));
        try (RdmaRig rig = new RdmaRig(12, config)) {
            for (int i = 1; i < 10; i++) {
                rig.host("owner").addDevice("sim" + i, 0x0A4D_0001 + (i << 8));
                rig.host("reader").addDevice("sim" + i, 0x0A4D_0002 + (i << 8));
            }
            List<SimulatedDevice> cards = rig.host("reader").cards();
            rig.host("owner").cards().get(4).fail();
            cards.get(7).fail();
            EngineRig.Side owner = rig.side("owner");
            EngineRig.Side reader = rig.side("reader");
            int[] before = cards.stream().mapToInt(SimulatedDevice::registered).toArray();
            Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
            Region into = reader.own(rig.filled(16 * BYTES, EngineRig.FILL));
            List<Reading> readings = new ArrayList<>();
            for (int i = 0; i < 16; i++) {
                Reading reading = new Reading();
                reading.read.from(owner.peer(), source.id(), 0, BYTES).into(into, i * BYTES).by(Long.MAX_VALUE);
                readings.add(reader.submit(reading));
            }
            readings.forEach(reading -> {
                rig.until(reading::ended);
                assertEquals(ReadStatus.OK, reading.status);
            });
            for (int i = 0; i < 10; i++) {
                // Card 4 has nobody on its own wire: it waits until it is needed.
                assertEquals(i != 7 && i != 4, cards.get(i).registered() > before[i], cards.get(i).name());
            }
            for (SimulatedDevice alone : cards) {
                cards.stream().filter(card -> !card.equals(alone)).forEach(SimulatedDevice::portDown);
                rig.settle();
                if (!alone.equals(cards.get(7))) {
                    assertReads(rig, reader, owner);
                }
                cards.stream().filter(card -> !card.equals(alone)).forEach(SimulatedDevice::portUp);
                rig.advance(2 * EngineRig.SECOND_NS);
                rig.settle();
            }
        }
    }

    @Test
    void shouldSayWhyWhenNoneCanBeOpened() {
        try (RdmaRig rig = new RdmaRig()) {
            rig.host("owner").cards().getFirst().fail();
            MooncakeException none = assertThrows(MooncakeException.class, () -> rig.side("owner"));
            assertTrue(none.getMessage().contains("sim0") && none.getMessage().contains("ibv_open_device"),
                    none.getMessage());
            rig.host("bare").cards().clear();
            MooncakeException nothing = assertThrows(MooncakeException.class, () -> rig.side("bare"));
            assertEquals(Kind.CONFIG_ERROR, nothing.kind());
        }
    }

    @Test
    void shouldGoWithoutWhereItIsOnlyWelcome() {
        AtomicReference<@Nullable TransferEngine> broken = new AtomicReference<>();
        AtomicReference<@Nullable TransferEngine> whole = new AtomicReference<>();
        try (RdmaRig rig = new RdmaRig() {
            @Override
            protected TransferEngine engine(EngineContext node) {
                SimulatedProvider host = host(node.self().name());
                host.cards().getFirst().fail();
                broken.set(RdmaTransferEngine.createIfUsable(node,
                        () -> RdmaTransferEngine.create(node, config, host)));
                whole.set(RdmaTransferEngine.createIfUsable(node,
                        () -> RdmaTransferEngine.create(node, config, host("whole"))));
                return Objects.requireNonNull(whole.get());
            }
        }) {
            rig.side("reader");
            assertNull(broken.get());
            assertNotNull(whole.get());
        }
    }
}
