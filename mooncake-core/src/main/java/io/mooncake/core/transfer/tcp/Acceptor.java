package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.MooncakeException.Kind;
import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.List;

/**
 * The listening socket. It keeps the number of connections without a handshake within its limit: a stranger who opens many and
 * says nothing pushes out his own, oldest first, and takes no memory from anybody. The poller's.
 */
final class Acceptor {
    private static final int ACCEPTS_PER_CYCLE = 16;

    private final TcpPoller poller;
    private final ServerSocketChannel server;
    private final SelectionKey key;
    private int strangers;
    private boolean ready;

    Acceptor(TcpPoller poller, Selector selector, ServerSocketChannel server) throws IOException {
        this.poller = poller;
        this.server = server;
        key = server.register(selector, SelectionKey.OP_ACCEPT, this);
    }

    /** The selector says that there is a connection. */
    void onReady() {
        ready = true;
    }

    /** Connections accepted and without a handshake. */
    int strangers() {
        return strangers;
    }

    void onStrangerGone() {
        strangers--;
    }

    /** Accepts what is there, within the limit; says how many. */
    int accept(List<Lane> lanes) {
        int accepted = 0;
        if (!ready) {
            return 0;
        }
        ready = false;
        try {
            for (; accepted < ACCEPTS_PER_CYCLE; accepted++) {
                SocketChannel channel = server.accept();
                if (channel == null) {
                    break;
                }
                admit(channel, lanes);
            }
        } catch (IOException e) {
            // Likely no file descriptor is left: look again at the next tick, not in a hot loop.
            key.interestOps(0);
            poller.log().warn("cannot accept a connection", e);
        }
        return accepted;
    }

    private void admit(SocketChannel channel, List<Lane> lanes) throws IOException {
        if (strangers >= poller.config().limits().handshaking()) {
            loseOldest(lanes);
        }
        try {
            poller.config().tune(channel);
            poller.keep(new ServerLane(poller, channel));
            strangers++;
        } catch (IOException e) {
            channel.close();
            poller.log().debug(server, "could not take an accepted connection", e);
        }
    }

    private void loseOldest(List<Lane> lanes) {
        ServerLane oldest = null;
        for (int i = 0; i < lanes.size(); i++) {
            if (lanes.get(i) instanceof ServerLane lane && !lane.isOpen()
                    && (oldest == null || lane.handshakeDeadlineNs() - oldest.handshakeDeadlineNs() < 0)) {
                oldest = lane;
            }
        }
        if (oldest != null) {
            poller.lose(oldest, new LaneLost(Kind.BACK_PRESSURE,
                    "more than " + poller.config().limits().handshaking() + " connections without a handshake"));
        }
    }

    /** Looks again after a failure. */
    void tick() {
        if (key.interestOps() == 0) {
            key.interestOps(SelectionKey.OP_ACCEPT);
        }
    }

    ServerSocketChannel channel() {
        return server;
    }
}
