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
