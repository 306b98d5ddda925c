package io.mooncake.rdma.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.mooncake.rdma.sim.SimulatedNetwork;
import io.mooncake.rdma.sim.SimulatedProvider;
import io.mooncake.testing.VirtualTime;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who wakes a poller may do so while its card is replaced. */
@Timeout(60)
final class CompletionChannelTest {
    /** A descriptor that is closed in between may be another file's when it is written. */
    @Test
    void shouldNotCloseItsDescriptorWhileSomebodyWritesIt() throws InterruptedException {
        SimulatedProvider host = new SimulatedNetwork(new VirtualTime(), 1).host("host");
        host.addDevice("sim0", 0x0A4D_0001);
        List<String> calls = Collections.synchronizedList(new ArrayList<>());
        AtomicReference<@Nullable Thread> closing = new AtomicReference<>();
        AtomicReference<@Nullable CompletionChannel> channel = new AtomicReference<>();
        Provider provider = (Provider) Proxy.newProxyInstance(Provider.class.getClassLoader(),
                new Class<?>[]{Provider.class}, (self, method, arguments) -> {
                    if (method.getName().equals("signal")) {
                        Thread closer = Thread.ofPlatform().start(() -> Objects.requireNonNull(channel.get()).close());
                        closing.set(closer);
                        while (closer.getState() != Thread.State.BLOCKED
                                && closer.getState() != Thread.State.TERMINATED) {
                            Thread.onSpinWait();
                        }
                    }
                    calls.add(method.getName());
                    try {
                        return method.invoke(host, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        try (Context context = Device.list(provider).getFirst().open()) {
            CompletionChannel made = context.newCompletionChannel();
            channel.set(made);
            made.wakeup();
            Objects.requireNonNull(closing.get()).join();
            assertEquals(List.of("signal", "destroyCompChannel", "closeEventFd"),
                    calls.subList(calls.size() - 3, calls.size()));
            made.wakeup();
            assertEquals("closeEventFd", calls.getLast(), "nobody writes it any more");
        }
    }

    /** Its descriptor is gone whatever the kernel says: what it was made of can be closed. */
    @Test
    void shouldKeepNothingOpenWhenItsDescriptorIsNotClosedWell() {
        SimulatedProvider host = new SimulatedNetwork(new VirtualTime(), 1).host("host");
        host.addDevice("sim0", 0x0A4D_0001);
        AtomicReference<String> failing = new AtomicReference<>("closeEventFd");
        Provider provider = (Provider) Proxy.newProxyInstance(Provider.class.getClassLoader(),
                new Class<?>[]{Provider.class}, (self, method, arguments) -> {
                    try {
                        Object result = method.invoke(host, arguments);
                        return method.getName().equals(failing.get()) ? (Object) (-Errno.EIO) : result;
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        Context context = Device.list(provider).getFirst().open();
        CompletionChannel channel = context.newCompletionChannel();
        assertThrows(VerbsException.class, channel::close);
        failing.set("");
        channel.close();
        context.close();
        assertEquals("", host.leftovers());
    }
}
