package io.mooncake.core.transfer.onesided;

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

/**
 * An engine over one-sided READs: fetches a block's bytes, then its guard, without the owner's CPU. Any thread.
 *
 * <p>Requests that a card has taken can't be recalled, so a read that was given up or whose deadline passed ends when the last of them
 * has ended: within a window's time, or else {@link OneSidedConfig.Times#endBoundNs} later, since their lanes are broken then. It
 * sends no messages.
 */
public final class OneSidedEngine implements TransferEngine {
    private final Fabric fabric;
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
        poller = new OneSidedPoller(context, fabric, config, rules, inbox);
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
        return Route.byAddress(fabric.reaches(peer));
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
        return false;
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
