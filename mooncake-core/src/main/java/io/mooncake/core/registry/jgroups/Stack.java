package io.mooncake.core.registry.jgroups;

import io.mooncake.core.base.ClusterSecret;
import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.registry.Discovery.Addresses;
import io.mooncake.core.registry.Discovery.Dns;
import io.mooncake.core.registry.Discovery.Multicast;
import io.mooncake.core.registry.Membership;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.crypto.spec.SecretKeySpec;
import org.jgroups.Address;
import org.jgroups.JChannel;
import org.jgroups.conf.ClassConfigurator;
import org.jgroups.logging.LogFactory;
import org.jgroups.protocols.AUTH;
import org.jgroups.protocols.FD_ALL3;
import org.jgroups.protocols.FD_SOCK2;
import org.jgroups.protocols.FRAG2;
import org.jgroups.protocols.MERGE3;
import org.jgroups.protocols.MFC;
import org.jgroups.protocols.MPING;
import org.jgroups.protocols.SYM_ENCRYPT;
import org.jgroups.protocols.TCPPING;
import org.jgroups.protocols.TCP_NIO2;
import org.jgroups.protocols.UFC;
import org.jgroups.protocols.UNICAST3;
import org.jgroups.protocols.VERIFY_SUSPECT;
import org.jgroups.protocols.dns.DNSResolver;
import org.jgroups.protocols.dns.DNS_PING;
import org.jgroups.protocols.pbcast.GMS;
import org.jgroups.protocols.pbcast.NAKACK2;
import org.jgroups.protocols.pbcast.STABLE;
import org.jgroups.stack.IpAddress;
import org.jgroups.stack.Protocol;
import org.jgroups.util.DefaultThreadFactory;
import org.jspecify.annotations.Nullable;

/**
 * The protocols that a node's channel is made of, bottom first, and why these:
 *
 * <pre>
 *   TCP_NIO2          no write blocks, so that one frozen peer does not keep heartbeats from the others; platform threads, so that
 *                     the user's virtual threads do not, either
 *   SYM_ENCRYPT       with a secret: below everything, so that nothing passes that does not know the key
 *   discovery, MERGE3 finds the others; finds them again after a partition
 *   FD_SOCK2, FD_ALL3 a closed connection; missing heartbeats
 *   VERIFY_SUSPECT    asks once more. Not VERIFY_SUSPECT2: that waits by the wall clock, and a clock set back would keep the dead alive
 *   NAKACK2 UNICAST3 STABLE  delivery, in order
 *   AUTH, GMS         with a secret: who joins proves it; the members
 *   UFC, MFC, FRAG2   back-pressure; large messages
 * </pre>
 */
final class Stack {
    /** Listens that many ports above the cluster address, or a little more; peers look there. */
    private static final int FD_SOCK_OFFSET = 100;
    private static final int FD_SOCK_RANGE = 4;
    private static final int CREDITS = 2_000_000;
    /** Messages that may wait for a connection; beyond, they are dropped and sent again later. */
    private static final int QUEUED_MESSAGES = 256;
    private static final int MAX_MERGE_HEARTBEATS = 5;
    /** How long the first of all nodes looks for others at least: a busy host answers late, and two halves take longer to become one. */
    private static final long MIN_JOIN_MS = 1_000;

    private Stack() {}

    /**
     * Makes a channel, not connected yet.
     *
     * @throws MooncakeException CONFIG_ERROR for addresses that cannot be used
     */
    static JChannel channel(String node, String cluster, @Nullable ClusterSecret secret, Membership membership) {
        if (LogFactory.getCustomLogFactory() == null) {
            LogFactory.setCustomLogFactory(new Slf4jLogs());
        }
        InetAddress bind = bind(membership.bind(), secret != null);
        try {
            TCP_NIO2 transport = transport(node, bind, membership);
            List<Protocol> protocols = Stream.of(
                    Stream.of(transport),
                    secret == null ? Stream.<Protocol>empty() : Stream.of(encryption(secret, cluster)),
                    finding(membership, bind),
                    Stream.of(new NAKACK2().useMcastXmit(false), new UNICAST3(), new STABLE()),
                    secret == null ? Stream.<Protocol>empty() : Stream.of(authentication(secret, cluster)),
                    Stream.of(members(membership), new UFC().setMaxCredits(CREDITS),
                            new MFC().setMaxCredits(CREDITS), new FRAG2()))
                    .<Protocol>flatMap(all -> all)
                    .toList();
            JChannel channel = new JChannel(new ArrayList<>(protocols)).name(node).setDiscardOwnMessages(true);
            // A second multicast socket, on all interfaces, that anybody may ask anything.
            transport.getDiagnosticsHandler().setEnabled(false);
            return channel;
        } catch (Exception e) {
            throw cannot(membership, e);
        }
    }

    /** What JGroups says to a bad address, with the setting's name. */
    static MooncakeException cannot(Membership membership, Exception e) {
        return e instanceof MooncakeException ours
                ? ours
                : new MooncakeException(Kind.CONFIG_ERROR, "cluster.bind = '" + membership.bind()
                        + "', cluster.discovery = '" + membership.discovery() + "': cannot be a member: " + e, e);
    }

    private static InetAddress bind(Endpoint endpoint, boolean secret) {
        InetAddress address;
        try {
            address = InetAddress.getByName(endpoint.host());
        } catch (UnknownHostException e) {
            throw bad(endpoint, "is not the address of any host", e);
        }
        if (address.isAnyLocalAddress()) {
            throw bad(endpoint, "is a wildcard, which others cannot dial: name one address of this host", null);
        }
        if (!secret && !address.isLoopbackAddress()) {
            throw bad(endpoint, "is no loopback address: without cluster.secret only this host may connect", null);
        }
        return address;
    }

    private static MooncakeException bad(Endpoint endpoint, String why, @Nullable Exception cause) {
        return new MooncakeException(Kind.CONFIG_ERROR, "cluster.bind = '" + endpoint + "' " + why, cause);
    }

    private static TCP_NIO2 transport(String node, InetAddress bind, Membership membership) {
        TCP_NIO2 transport = new TCP_NIO2().setMaxSendBuffers(QUEUED_MESSAGES);
        transport.setClientBindAddr(bind)
                .setSockConnTimeout((int) membership.heartbeat().toMillis())
                .setBindAddress(bind)
                .setBindPort(membership.bind().port())
                .setPortRange(0);
        transport.useVirtualThreads(false);
        // Daemons: a program that forgets to close its node ends all the same.
        transport.setThreadFactory(new DefaultThreadFactory("mooncake-" + node + "-jgroups", true, true));
        return transport;
    }

    private static Protocol encryption(ClusterSecret secret, String cluster) {
        byte[] key = secret.hmacSha256(ByteBuffer.wrap(
                ("mooncake.jgroups.encrypt.1" + cluster).getBytes(StandardCharsets.UTF_8)));
        SYM_ENCRYPT encryption = new SYM_ENCRYPT().setSecretKey(new SecretKeySpec(key, "AES"));
        return encryption.symAlgorithm("AES/CBC/PKCS5Padding").symIvLength(16);
    }

    private static Protocol authentication(ClusterSecret secret, String cluster) {
        AUTH authentication = new AUTH();
        SecretToken token = new SecretToken(secret, cluster);
        token.setAuth(authentication);
        return authentication.setAuthToken(token);
    }

    private static Stream<Protocol> finding(Membership membership, InetAddress bind) throws UnknownHostException {
        long heartbeatMs = membership.heartbeat().toMillis();
        FD_SOCK2 sockets = new FD_SOCK2().setBindAddress(bind)
                .setOffset(FD_SOCK_OFFSET)
                .setPortRange(FD_SOCK_RANGE);
        FD_ALL3 heartbeats = new FD_ALL3().setTimeout(membership.silence().toMillis()).setInterval(heartbeatMs);
        return Stream.of(discovery(membership, bind),
                new MERGE3().setMinInterval(heartbeatMs).setMaxInterval(MAX_MERGE_HEARTBEATS * heartbeatMs),
                sockets, heartbeats, new VERIFY_SUSPECT().setTimeout(Math.max(1, heartbeatMs / 2)));
    }

    private static Protocol discovery(Membership membership, InetAddress bind) throws UnknownHostException {
        return switch (membership.discovery()) {
            case Addresses list -> {
                List<InetSocketAddress> hosts = new ArrayList<>();
                for (Endpoint host : list.addresses()) {
                    hosts.add(new InetSocketAddress(InetAddress.getByName(host.host()), host.port()));
                }
                yield new ListedHosts().setInitialHosts(hosts).setPortRange(0);
            }
            case Multicast multicast -> new MPING().setBindAddr(bind)
                    .mcastAddress(InetAddress.getByName(multicast.group().host()))
                    .setMcastPort(multicast.group().port());
            case Dns dns -> new DNS_PING().dnsQuery(dns.name())
                    .dnsRecordType(DNSResolver.DNSRecordType.SRV.name())
                    .setDNSResolver((name, type) -> lookUp(name, dns.port()));
        };
    }

    /** As this host looks names up, and not by JNDI; the port is ours, which JGroups believes of SRV records only. */
    private static List<Address> lookUp(String name, int port) {
        try {
            return Stream.of(InetAddress.getAllByName(name)).<Address>map(ip -> new IpAddress(ip, port)).toList();
        } catch (UnknownHostException e) {
            // Nobody is there yet, or the name server is not; it is asked again.
            return List.of();
        }
    }

    private static Protocol members(Membership membership) {
        long heartbeatMs = membership.heartbeat().toMillis();
        return new GMS().setJoinTimeout(Math.max(MIN_JOIN_MS, 2 * heartbeatMs))
                .setViewAckCollectionTimeout(heartbeatMs)
                .setLeaveTimeout(heartbeatMs)
                .printLocalAddress(false)
                .printPhysicalAddress(false);
    }

    /**
     * The transport wants a fixed port beside a list, when it is initialized; but only the nodes in the list need one. Afterwards it is a
     * list like any other: else a member's address would not be passed on to the others.
     */
    private static final class ListedHosts extends TCPPING {
        private boolean initialized;

        ListedHosts() {
            setId(ClassConfigurator.getProtocolId(TCPPING.class));
        }

        @Override
        public void init() throws Exception {
            super.init();
            initialized = true;
        }

        @Override
        public boolean isDynamic() {
            return !initialized;
        }
    }
}
