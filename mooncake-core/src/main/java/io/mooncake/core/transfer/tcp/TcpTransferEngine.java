package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.ControlChannel;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.Route;
import io.mooncake.core.transfer.Topic;
import io.mooncake.core.transfer.TransferEngine;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Reads over TCP, in one round trip: the server compares the guard for every chunk and says what it saw. Any thread.
 *
 * <p>The socket is bound at construction; nothing is served until the poller runs. {@link Poller#onClose} closes everything, also when
 * the poller never ran. See docs/protocol.md for what stands on the wire.
 */
public final class TcpTransferEngine implements TransferEngine {
    /** The engine's name. */
    public static final String NAME = "tcp";

    private static final int BACKLOG = 1024;

    private final TcpPoller poller;
    private final Endpoint advertised;

    /**
     * Binds.
     *
     * @param context the node's
     * @param config settings
     * @param environment what is injected
     * @throws MooncakeException CONFIG_ERROR for an address that must not be bound or advertised, or cannot be bound
     */
    public TcpTransferEngine(EngineContext context, TcpConfig config, TcpEnvironment environment) {
        if (context.cluster().getBytes(StandardCharsets.UTF_8).length > Frames.MAX_CLUSTER_BYTES) {
            throw new MooncakeException(Kind.CONFIG_ERROR,
                    "cluster name '" + context.cluster() + "' is longer than " + Frames.MAX_CLUSTER_BYTES + " bytes");
        }
        InetAddress address = allowed(config);
        Endpoint told = config.advertised();
        InetSocketAddress bound;
        try (Opening opening = new Opening()) {
            opening.selector = Selector.open();
            opening.server = ServerSocketChannel.open();
            opening.server.configureBlocking(false);
            opening.server.bind(new InetSocketAddress(address, config.bind().port()), BACKLOG);
            bound = (InetSocketAddress) opening.server.getLocalAddress();
            poller = new TcpPoller(config, context, opening.selector, opening.server, environment);
            opening.kept = true;
        } catch (IOException e) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "tcp engine of node " + context.self() + " cannot listen on "
                    + config.bind() + ": " + e.getMessage()
                    + ": set tcp.bind to an address of this host and a free port, or 0 for any", e);
        }
        advertised = told == null
                ? new Endpoint(bound.getAddress().getHostAddress(), bound.getPort())
                : new Endpoint(told.host(), told.port() == 0 ? bound.getPort() : told.port());
    }

    /**
     * Checks the addresses without binding any, for whoever has something costly to do before.
     *
     * @param config settings
     * @throws MooncakeException CONFIG_ERROR for an address that must not be bound or advertised, or is not known
     */
    public static void check(TcpConfig config) {
        allowed(config);
    }

    /** Without a secret any stranger could read: only on loopback are there none. */
    private static InetAddress allowed(TcpConfig config) {
        Endpoint bind = config.bind();
        InetAddress address = resolve("tcp.bind", bind);
        if (config.secret() == null && !address.isLoopbackAddress()) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "tcp.bind: address " + bind + (address.isAnyLocalAddress()
                    ? " stands for every interface"
                    : " is not a loopback address")
                    + ": without a secret peers are not authenticated, any stranger could read there:"
                    + " set cluster.secret or cluster.secretFile; only loopback (127.0.0.1, ::1) is allowed without");
        }
        if (address.isAnyLocalAddress() && config.advertised() == null) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "tcp.bind: address " + bind
                    + " stands for every interface, peers cannot dial it: set tcp.advertise to one that they can");
        }
        Endpoint told = config.advertised();
        if (told != null && resolve("tcp.advertise", told).isAnyLocalAddress()) {
            throw new MooncakeException(Kind.CONFIG_ERROR,
                    "tcp.advertise: address " + told + " stands for no host: name one that peers can dial");
        }
        return address;
    }

    private static InetAddress resolve(String what, Endpoint endpoint) {
        try {
            return InetAddress.getByName(endpoint.host());
        } catch (UnknownHostException e) {
            throw new MooncakeException(Kind.CONFIG_ERROR, what + ": address " + endpoint
                    + ": unknown host: write an address, or a name that this host can look up", e);
        }
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Optional<String> advertised() {
        return Optional.of(advertised.toString());
    }

    @Override
    public Route route(Peer peer, int region) {
        return Route.byAddress(hasAddress(peer));
    }

    private static boolean hasAddress(Peer peer) {
        return peer.addresses().containsKey(NAME);
    }

    @Override
    public boolean submit(GuardedRead read) {
        read.engineState = poller.inbox();
        return offer(read);
    }

    @Override
    public void abort(GuardedRead read) {
        poller.inbox().ring();
        poller.wakeup();
    }

    @Override
    public boolean send(Peer peer, Topic topic, ByteBuffer message) {
        byte[] bytes = ControlChannel.copy(peer, message);
        return hasAddress(peer) && offer(new Message(peer, topic, bytes));
    }

    private boolean offer(Object command) {
        boolean accepted = poller.inbox().offer(command);
        if (accepted) {
            poller.wakeup();
        }
        return accepted;
    }

    @Override
    public void onPeerDead(NodeId life, String reason) {
        poller.inbox().died(life, reason);
        poller.wakeup();
    }

    @Override
    public Poller poller() {
        return poller;
    }

    /** Closes what was opened so far unless the poller has it. */
    private static final class Opening implements AutoCloseable {
        private @Nullable Selector selector;
        private @Nullable ServerSocketChannel server;
        private boolean kept;

        @Override
        public void close() throws IOException {
            if (kept) {
                return;
            }
            try {
                if (server != null) {
                    server.close();
                }
            } finally {
                if (selector != null) {
                    selector.close();
                }
            }
        }
    }
}
