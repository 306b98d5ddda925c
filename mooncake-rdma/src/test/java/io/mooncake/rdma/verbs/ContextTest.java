package io.mooncake.rdma.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.rdma.rig.RdmaDevices;
import io.mooncake.rdma.rig.SoftRoceLink;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A real device: what it says of itself, what it registers, its events, and who closes what. */
@Tag("rdma")
class ContextTest {

    private static final int LIMIT_MILLIS = 30_000;

    private static Context open() {
        RdmaDevices.assume();
        return Device.list(new NativeProvider()).getFirst().open();
    }

    @Test
    void shouldListAndOpenEveryDevice() {
        RdmaDevices.assume();
        List<Device> devices = Device.list(new NativeProvider());
        assertFalse(devices.isEmpty());
        for (Device device : devices) {
            try (Context context = device.open()) {
                DeviceAttributes attributes = context.attributes();
                assertTrue(attributes.ports() >= 1 && attributes.maxQueuePairs() > 0 && attributes.maxEntries() > 0
                        && attributes.maxInitiatedReads() > 0, attributes::toString);
                assertTrue(device.numaNode() >= Device.NO_NUMA_NODE);
            }
        }
    }

    @Test
    void shouldSayThatADeviceIsNotThere() {
        RdmaDevices.assume();
        VerbsException gone = assertThrows(VerbsException.class, new Device(new NativeProvider(), "rxe99")::open);
        assertEquals(Errno.ENODEV, gone.errno());
        assertTrue(String.valueOf(gone.getMessage()).contains("rxe99"), gone::toString);
    }

    @Test
    void shouldShowThePortAndChooseItsRoutableGid() {
        RdmaDevices.assumeSoftRoce();
        try (Context context = open()) {
            Port port = context.port(1);
            assertTrue(port.isActive() && port.ethernet(), port::toString);
            assertEquals(PathMtu.MTU_4096, port.mtu());
            List<Gid> gids = context.gids(port);
            GidChoice choice = GidChoice.of(gids, null).orElseThrow();
            assertEquals("10.77.0.1", choice.gid().address(), gids::toString);
            assertEquals(Gid.Type.ROCE_V2, choice.gid().type());
            assertTrue(choice.gid().interfaceIndex() > 0);
        }
    }

    @Test
    void shouldRefuseAPortThatIsNotThere() {
        try (Context context = open()) {
            assertEquals(Errno.EINVAL, assertThrows(VerbsException.class, () -> context.port(9)).errno());
        }
    }

    @Test
    void shouldRegisterMemoryAndGiveItBack() {
        try (Context context = open();
                ProtectionDomain domain = context.newProtectionDomain();
                Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(8L << 20, 4096);
            for (int i = 0; i < 20; i++) {
                try (MemoryRegion one = domain.register(memory.address(), memory.byteSize(), Access.REMOTE_READ);
                        MemoryRegion other = domain.register(memory.address() + 13, 1, Access.LOCAL_WRITE)) {
                    assertTrue(one.remoteKey() != other.remoteKey());
                    assertTrue(one.localKey() != other.localKey());
                }
            }
        }
    }

    @Test
    void shouldSayWhyMemoryIsNotRegistered() {
        try (Context context = open(); ProtectionDomain domain = context.newProtectionDomain()) {
            assertEquals(Errno.EINVAL,
                    assertThrows(VerbsException.class, () -> domain.register(4096, 0, Access.REMOTE_READ)).errno());
            VerbsException unmapped = assertThrows(VerbsException.class,
                    () -> domain.register(4096, 4096, Access.LOCAL_WRITE));
            assertEquals(Errno.EFAULT, unmapped.errno());
            assertEquals(MooncakeException.Kind.CONFIG_ERROR, unmapped.asMooncake().kind());
        }
    }

    @Test
    void shouldRefuseToCloseWhatIsInUseAndNameTheUser() {
        try (LoopBack loop = new LoopBack()) {
            for (NativeObject used : List.of(loop.context, loop.domain, loop.channel, loop.queue)) {
                VerbsException busy = assertThrows(VerbsException.class, used::close);
                assertEquals(Errno.EBUSY, busy.errno());
                assertTrue(busy.remedy().startsWith("close first: "), busy::toString);
            }
            assertTrue(assertThrows(VerbsException.class, loop.queue::close).remedy().contains("queue pair"));
        }
    }

    @Test
    void shouldCloseTwiceAsOnce() {
        Context context = open();
        ProtectionDomain domain = context.newProtectionDomain();
        domain.close();
        domain.close();
        context.close();
        context.close();
        assertThrows(IllegalStateException.class, context::newProtectionDomain);
    }

    @Test
    void shouldWakeUpForACompletion() {
        try (LoopBack loop = new LoopBack()) {
            assertFalse(loop.channel.await(0), "nothing has happened yet");
            loop.queue.requestNotification();
            assertEquals(0, loop.queue.poll(1));
            loop.fillRead(5, 0, 64, true);
            loop.post();
            assertTrue(loop.channel.await(LIMIT_MILLIS));
            assertEquals(5, loop.await(1).getFirst().cookie());
            assertFalse(loop.channel.await(0), "one event for one request for it");
        }
    }

    @Test
    void shouldEndTheWaitWhenWoken() throws Exception {
        try (Context context = open(); CompletionChannel channel = context.newCompletionChannel()) {
            channel.wakeup();
            assertFalse(channel.await(LIMIT_MILLIS), "a wakeup before the wait ends it, too");
            CompletableFuture<Boolean> waiting = new CompletableFuture<>();
            Thread thread = Thread.ofPlatform().start(() -> waiting.complete(channel.await(-1)));
            channel.wakeup();
            assertFalse(waiting.get(LIMIT_MILLIS, TimeUnit.MILLISECONDS));
            thread.join();
            context.wakeup();
            assertNull(context.awaitEvent(LIMIT_MILLIS));
        }
    }

    @Test
    void shouldTellWhenThePortGoesDownAndComesBack() throws Exception {
        RdmaDevices.assumeSoftRoce();
        SoftRoceLink link = SoftRoceLink.of(0);
        try (Context context = open()) {
            assertNull(context.awaitEvent(0));
            link.down();
            try {
                assertEquals(AsyncEvent.Type.PORT_ERR, awaitPortEvent(context).type());
                assertFalse(context.port(1).isActive());
            } finally {
                link.up();
            }
            assertEquals(AsyncEvent.Type.PORT_ACTIVE, awaitPortEvent(context).type());
            assertTrue(context.port(1).isActive());
        }
    }

    private static AsyncEvent awaitPortEvent(Context context) {
        for (;;) {
            AsyncEvent event = context.awaitEvent(LIMIT_MILLIS);
            assertNotNull(event, "no event came");
            if (event.type() == AsyncEvent.Type.PORT_ERR || event.type() == AsyncEvent.Type.PORT_ACTIVE) {
                assertEquals(1, event.port());
                return event;
            }
        }
    }
}
