package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Inbox;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.Route;
import io.mooncake.core.transfer.Topic;
import io.mooncake.core.transfer.TransferEngine;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * An engine over one-sided READs: fetches a block's bytes, then its guard, without the owner's CPU. Any thread.
 *
 * <p>Requests that a card has taken can't be recalled, so a read that was given up or whose deadline passed ends when the last of them
 * has ended: within a window's time, or else {@link OneSidedConfig.Times#endBoundNs} later, since their lanes are broken then. It
 * sends the messages that its fabric does.
 */
public final class OneSidedEngine implements TransferEngine {
    private static final Route FAILING = new Route(Route.Locality.NETWORK, true, Route.Health.FAILING,
            "it did not reach the node a moment ago");

    private final Fabric fabric;
    private final FailingPeers failing;
    private final LongSupplier nanoClock;
    private final Inbox<GuardedRead> inbox;
    private final OneSidedPoller poller;

    /**
     * An engine for one node.
     *
     * @param context what the node gives
     * @param fabric the engine's from now on, closed by its poller
     * @param config settings
     */
    public OneSidedEngine(EngineContext context, Fabric fabric, OneSidedConfig config) {
        this(context, fabric, config, new Rules());
    }

    OneSidedEngine(EngineContext context, Fabric fabric, OneSidedConfig config, Rules rules) {
        this.fabric = fabric;
        inbox = new Inbox<>(config.reads());
        failing = new FailingPeers(config.peers());
        nanoClock = context.nanoClock();
        poller = new OneSidedPoller(context, fabric, config, rules, inbox, failing);
    }

    @Override
    public String name() {
        return fabric.name();
    }

    @Override
    public Optional<String> advertised() {
        return fabric.advertised();
    }

    @Override
    public Route route(Peer peer, int region) {
        if (fabric.reaches(peer) && failing.contains(peer.id(), nanoClock.getAsLong())) {
            return FAILING;
        }
        return Route.byAddress(fabric.reaches(peer));
    }

    /** {@inheritDoc} Also for memory of a device that the fabric writes. */
    @Override
    public boolean reaches(Peer peer, int region, Memory destination) {
        return fabric.canWrite(destination);
    }

    @Override
    public boolean submit(GuardedRead read) {
        read.engineState = inbox;
        boolean accepted = inbox.offer(read);
        if (accepted) {
            fabric.wakeup();
        }
        return accepted;
    }

    @Override
    public void abort(GuardedRead read) {
        inbox.ring();
        fabric.wakeup();
    }

    @Override
    public boolean send(Peer peer, Topic topic, ByteBuffer message) {
        return fabric.send(peer, topic, message);
    }

    @Override
    public boolean carries(Peer peer, Topic topic) {
        return fabric.carries(peer, topic);
    }

    @Override
    public void onPeerDead(NodeId life, String reason) {
        inbox.died(life, reason);
        fabric.wakeup();
    }

    @Override
    public Poller poller() {
        return poller;
    }

    /** What an engine without reads must not have, in words; empty when it has nothing of it. For tests. */
    String leftovers() {
        return poller.leftovers();
    }
}
