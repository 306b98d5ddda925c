package io.mooncake.rdma;

import io.mooncake.core.base.ByteSize;
import io.mooncake.rdma.verbs.Context;
import io.mooncake.rdma.verbs.Device;
import io.mooncake.rdma.verbs.DeviceAttributes;
import io.mooncake.rdma.verbs.Gid;
import io.mooncake.rdma.verbs.GidChoice;
import io.mooncake.rdma.verbs.Port;
import io.mooncake.rdma.verbs.Provider;
import io.mooncake.rdma.verbs.VerbsException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * What this machine has for RDMA, what a node would use of it and why, and what is wrong, as of one moment. For people and for checks
 * before a start; the engine looks for itself, by the same rules. Immutable.
 *
 * @param ports every port of every device
 * @param lockableBytes memory that this process may lock, which is what registering does; {@link Long#MAX_VALUE} for no limit
 * @param problems of the machine, each a sentence with its remedy
 */
public record RdmaSurvey(List<PortReport> ports, long lockableBytes, List<String> problems) {

    /** Less than this, and a pool worth having does not fit. */
    private static final long SMALL_LOCK_BYTES = 1L << 30;
    private static final int SMALL_MTU = 1024;

    /**
     * One port of one device.
     *
     * @param device the kernel's name
     * @param place where the card is
     * @param link what its cable does
     * @param gids its addresses
     * @param gid index of the address that it would be used by; -1 when there is none
     * @param isUsed whether a node would use it
     * @param reason by which address it is used and why, or why it is not
     * @param problems of the port, each a sentence with its remedy
     */
    public record PortReport(String device, Place place, Link link, List<String> gids, int gid, boolean isUsed,
            String reason, List<String> problems) {
        /** Copies the lists. */
        public PortReport {
            gids = List.copyOf(gids);
            problems = List.copyOf(problems);
        }
    }

    /**
     * Where a card is.
     *
     * @param pciAddress empty for one that is not on the bus (Soft-RoCE)
     * @param numaNode -1 where the kernel does not say
     * @param firmware its version
     */
    public record Place(String pciAddress, int numaNode, String firmware) {}

    /**
     * What a port's cable does.
     *
     * @param port from 1
     * @param state the port's, such as ACTIVE
     * @param ethernet RoCE when true, else InfiniBand
     * @param mtuBytes payload of a packet
     * @param mbitsPerSecond 0 where the driver does not say
     */
    public record Link(int port, String state, boolean ethernet, int mtuBytes, long mbitsPerSecond) {}

    /** Copies the lists. */
    public RdmaSurvey {
        ports = List.copyOf(ports);
        problems = List.copyOf(problems);
    }

    /**
     * Whether a node can use RDMA here.
     *
     * @return true when it would use at least one port
     */
    public boolean isUsable() {
        return ports.stream().anyMatch(PortReport::isUsed);
    }

    static RdmaSurvey of(Provider provider, RdmaConfig.Devices wanted, MemoryLock lock) {
        List<PortReport> ports = new ArrayList<>();
        List<String> problems = new ArrayList<>();
        List<Device> devices = devices(provider, problems);
        for (Device device : devices) {
            try (Context context = device.open()) {
                DeviceAttributes attributes = context.attributes();
                IntStream.rangeClosed(1, attributes.ports())
                        .mapToObj(number -> report(context, attributes, number, wanted))
                        .forEach(ports::add);
            } catch (VerbsException e) {
                problems.add(String.valueOf(e.getMessage()));
            }
        }
        for (String name : wanted.names()) {
            if (devices.stream().noneMatch(device -> device.name().equals(name))) {
                problems.add("rdma.devices names " + name + ", which is not there: correct it, or leave it out to have "
                        + "every device with an active port used");
            }
        }
        if (lock.limitBytes() < SMALL_LOCK_BYTES) {
            problems.add("this process may lock " + ByteSize.format(lock.limitBytes())
                    + " of memory, and no larger pool can "
                    + "be registered: " + MemoryLock.REMEDY);
        }
        return new RdmaSurvey(ports, lock.limitBytes(), problems);
    }

    private static List<Device> devices(Provider provider, List<String> problems) {
        String missing = Rdma.missing(provider.devices());
        if (missing != null) {
            problems.add(missing);
            return List.of();
        }
        return Device.list(provider);
    }

    private static PortReport report(Context context, DeviceAttributes attributes, int number,
            RdmaConfig.Devices wanted) {
        Device device = context.device();
        Port port = context.port(number);
        List<Gid> gids = context.gids(port);
        Optional<GidChoice> choice = GidChoice.of(gids, wanted.gid());
        String refusal = refusal(device, port, choice, wanted);
        return new PortReport(device.name(), new Place(device.pciAddress(), device.numaNode(), attributes.firmware()),
                new Link(number, port.state().name(), port.ethernet(), port.mtu().bytes(), port.mbitsPerSecond()),
                gids.stream().map(Gid::toString).toList(), choice.map(c -> c.gid().index()).orElse(-1),
                refusal.isEmpty(),
                refusal.isEmpty() ? choice.map(c -> c.gid() + ": " + c.reason()).orElse("") : refusal,
                problems(port, choice, wanted));
    }

    /** Why a port is not used; empty when it is. */
    private static String refusal(Device device, Port port, Optional<GidChoice> choice, RdmaConfig.Devices wanted) {
        if (port.number() != wanted.port()) {
            return "rdma.port is " + wanted.port();
        }
        if (!wanted.names().isEmpty() && !wanted.names().contains(device.name())) {
            return "rdma.devices names others";
        }
        if (!port.isActive()) {
            return "its port is " + port.state();
        }
        return choice.isPresent() ? "" : wanted.gid() == null ? "it has no GID" : "it has no GID " + wanted.gid();
    }

    private static List<String> problems(Port port, Optional<GidChoice> choice, RdmaConfig.Devices wanted) {
        List<String> problems = new ArrayList<>();
        if (!port.isActive()) {
            problems.add("the port is " + port.state() + ": " + (port.ethernet()
                    ? "bring its interface up (ip link set ... up), and look at cable and switch"
                    : "look at cable and switch, and at the subnet manager (state INIT means that none runs)"));
        }
        if (choice.isEmpty() && wanted.gid() != null) {
            problems.add(
                    "it has no GID " + wanted.gid() + ": name one that it has, or leave it out to have one chosen");
        } else if (choice.isEmpty()) {
            problems.add(
                    port.ethernet() ? "no GID to be used: give its interface an IPv4 address" : "no GID to be used");
        }
        choice.map(GidChoice::gid).filter(gid -> port.ethernet()).ifPresent(gid -> {
            if (gid.isLinkLocal()) {
                problems.add(
                        "its only addresses are link-local, which no router passes on: give its interface an IPv4 address");
            }
            if (gid.type() == Gid.Type.ROCE_V1) {
                problems.add("RoCE version 1 is not routed: have the driver use version 2");
            }
        });
        if (port.isActive() && port.ethernet() && port.mtu().bytes() <= SMALL_MTU) {
            problems.add("packets of " + port.mtu().bytes() + " bytes cost bandwidth: set the interface's MTU, and the "
                    + "switches', to 4200 or more (9000)");
        }
        return problems;
    }
}
