package io.mooncake.rdma;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Region;
import io.mooncake.rdma.verbs.AsyncEvent;
import io.mooncake.rdma.verbs.Device;
import io.mooncake.rdma.verbs.Provider;
import io.mooncake.rdma.verbs.VerbsException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Which cards there are, and what happens to them beside completions. The registrar's.
 *
 * <pre>
 *   open ──port down, other GID──▶ its lanes are broken; usable again with the port
 *     │
 *     └──device fatal, queue dead──▶ failed: lanes broken, and when the poller has none left ──▶ closed, opened anew with the
 *                                                                                              next key epoch, pools registered
 * </pre>
 */
final class Cards {
    private static final Logger LOG = LoggerFactory.getLogger(Cards.class);
    private static final long REOPEN_NS = 1_000_000_000;
    private static final int EVENTS_PER_LOOK = 32;

    private final RdmaFabric fabric;
    private final List<Nic> nics = new ArrayList<>();
    /** Devices that are to be opened again, and when. */
    private final Map<Device, Long> lost = new HashMap<>();
    /** Those of them of which that was said. */
    private final Set<Device> refused = new HashSet<>();
    private long lastKeyEpoch;
    /** Where the pools lie, which decides between cards of several nodes. */
    private volatile int memoryNode = Device.NO_NUMA_NODE;

    /**
     * Opens what the configuration names, or every device with an active port. One that cannot be opened is left out with a warning, and tried
     * again later.
     *
     * @throws MooncakeException CONFIG_ERROR when there is none to be used; why the first one could not be opened, when none could
     */
    Cards(RdmaFabric fabric, Provider provider) {
        this.fabric = fabric;
        List<String> names = fabric.config().devices().names();
        List<Device> devices = Device.list(provider);
        boolean done = false;
        try {
            openAll(names.isEmpty() ? devices : named(names, devices), !names.isEmpty());
            registerAll();
            done = true;
        } catch (VerbsException e) {
            throw e.asMooncake();
        } finally {
            if (!done) {
                close();
            }
        }
    }

    private void openAll(List<Device> devices, boolean named) {
        List<MooncakeException> failures = new ArrayList<>();
        for (Device device : devices) {
            try {
                Nic nic = open(device);
                if (named || nic.isUsable()) {
                    nics.add(nic);
                } else {
                    nic.close();
                }
            } catch (VerbsException e) {
                failures.add(e.asMooncake());
                lost.put(device, fabric.nowNs() + REOPEN_NS);
            } catch (MooncakeException e) {
                failures.add(e);
            }
        }
        if (nics.isEmpty() && !failures.isEmpty()) {
            MooncakeException first = failures.removeFirst();
            failures.forEach(first::addSuppressed);
            throw first;
        }
        if (nics.isEmpty()) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "none of the RDMA devices " + devices.stream()
                    .map(Device::name)
                    .toList() + " has an active port " + fabric.config().devices().port()
                    + ": bring its link up, or name the device and the port");
        }
        failures.forEach(failure -> LOG.warn("node {} runs without a card: {}", fabric.node().self(),
                failure.getMessage()));
    }

    private static List<Device> named(List<String> names, List<Device> devices) {
        return names.stream()
                .map(name -> devices.stream()
                        .filter(device -> device.name().equals(name))
                        .findFirst()
                        .orElseThrow(() -> new MooncakeException(Kind.CONFIG_ERROR, "rdma.devices: there is no device '"
                                + name + "' among " + devices.stream().map(Device::name).toList())))
                .toList();
    }

    private Nic open(Device device) {
        return new Nic(device, fabric.config(), fabric.config().window().completions(), ++lastKeyEpoch);
    }

    private void registerAll() {
        List<Memory> pools = fabric.node()
                .regions()
                .open()
                .stream()
                .filter(region -> region.access() != Access.LOCAL_ONLY && Reach.isRegistrable(region))
                .map(Region::memory)
                .toList();
        // A device's memory is no memory of the host.
        MemoryLock.read()
                .check(pools.stream().filter(HostMemory.class::isInstance).mapToLong(Memory::length).sum()
                        * nics.size());
        InParallel.run(nics.size(), i -> nics.get(i).registerAll(fabric.node(), fabric.registrations()::onRefused));
        nics.forEach(nic -> nic.registrations().forEach(nic.use::onRegistered));
        if (nics.stream().mapToInt(nic -> nic.numaNode).distinct().count() > 1) {
            memoryNode = NumaMaps.read().nodeOf(pools);
        }
    }

    /** Whether the pools lie on a card's own NUMA node, as far as that makes a difference between cards. Any thread. */
    boolean isBesideMemory(Nic nic) {
        return nic.numaNode != Device.NO_NUMA_NODE && nic.numaNode == memoryNode;
    }

    /** Those that are open, in the order of preference. */
    List<Nic> nics() {
        return nics;
    }

    /** From time to time: events, regions that were closed, cards that may be there again. */
    void look() {
        for (Nic nic : List.copyOf(nics)) {
            List<Integer> gone = nic.sweep(this::retaining);
            if (!gone.isEmpty()) {
                fabric.tell(() -> gone.forEach(nic.use::onDeregistered));
            }
            String dead = nic.dead();
            if (dead != null) {
                onFatal(nic, dead);
            }
            takeEvents(nic);
            if (nic.isDone()) {
                replace(nic);
            }
        }
        if (!lost.isEmpty()) {
            long nowNs = fabric.node().nanoClock().getAsLong();
            lost.entrySet()
                    .stream()
                    .filter(entry -> nowNs - entry.getValue() >= 0)
                    .map(Map.Entry::getKey)
                    .toList()
                    .forEach(this::reopen);
        }
    }

    /** How many cards' registrations use a region. */
    private int retaining(Region region) {
        return (int) nics.stream().filter(nic -> nic.isRetaining(region)).count();
    }

    private void takeEvents(Nic nic) {
        try {
            AsyncEvent event;
            for (int i = 0; i < EVENTS_PER_LOOK && !nic.isFailed() && (event = nic.takeEvent()) != null; i++) {
                onEvent(nic, event);
            }
        } catch (VerbsException e) {
            onFatal(nic, String.valueOf(e.getMessage()));
        }
    }

    private void onEvent(Nic nic, AsyncEvent event) {
        boolean ownPort = event.port() == nic.port().number();
        switch (event.type()) {
            case DEVICE_FATAL, CQ_ERR -> onFatal(nic, event.type().toString());
            case PORT_ERR, PORT_ACTIVE, LID_CHANGE, GID_CHANGE, PKEY_CHANGE, CLIENT_REREGISTER -> {
                if (ownPort) {
                    onPortChange(nic, event);
                }
            }
            case QP_FATAL, QP_REQ_ERR, QP_ACCESS_ERR, PATH_MIG_ERR ->
                fabric.onQueuePairFailed(nic, event.queuePair(), "the card says " + event.type());
            default -> LOG.debug("node {}: {} says {}", fabric.node().self(), nic, event);
        }
    }

    private void onPortChange(Nic nic, AsyncEvent event) {
        try {
            if (nic.refresh()) {
                LOG.warn("node {}: {} says {}: port {}, {}", fabric.node().self(), nic, event.type(),
                        nic.port().state(),
                        nic.gid());
                fabric.onNicLost(nic, event.type().toString());
            }
        } catch (MooncakeException e) {
            onFatal(nic, e.getMessage());
        }
    }

    /** A card is lost, or what was made on it. */
    void onFatal(Nic nic, String why) {
        if (nic.fail()) {
            LOG.error("node {}: {} is lost ({}); it is opened anew as soon as that succeeds", fabric.node().self(), nic,
                    why);
            fabric.onNicLost(nic, why);
        }
    }

    private void replace(Nic nic) {
        nics.remove(nic);
        close(nic);
        reopen(nic.device);
    }

    private void close(Nic nic) {
        try {
            nic.close();
        } catch (RuntimeException e) {
            fabric.log(nic + " could not be closed; what it holds stays until the process ends", e);
        }
    }

    private void reopen(Device device) {
        lost.remove(device);
        Nic nic = null;
        try {
            nic = open(device);
            fabric.requireRoom(nic);
            nic.registerAll(fabric.node(), fabric.registrations()::onRefused);
            nics.add(nic);
            fabric.onNicOpened(nic);
            refused.remove(device);
            LOG.info("node {}: {} is open again, key epoch {}", fabric.node().self(), nic, nic.keyEpoch);
        } catch (VerbsException | MooncakeException e) {
            LOG.atLevel(refused.add(device) ? Level.WARN : Level.DEBUG)
                    .setCause(e)
                    .log("node {}: {} cannot be opened now, and is tried again each second", fabric.node().self(),
                            device);
            if (nic != null) {
                close(nic);
            }
            lost.put(device, fabric.node().nanoClock().getAsLong() + REOPEN_NS);
        }
    }

    /** Gives everything back. */
    void close() {
        fabric.served().dropAll(null);
        nics.forEach(this::close);
        nics.clear();
    }
}
