package io.mooncake.core.registry;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.registry.Delta.Evicted;
import io.mooncake.core.registry.Delta.Measured;
import io.mooncake.core.registry.Delta.NodeFacts;
import io.mooncake.core.registry.Delta.RegionFact;
import io.mooncake.core.registry.Delta.Room;
import io.mooncake.core.registry.Delta.Written;
import io.mooncake.core.registry.RegistryMessage.Ask;
import io.mooncake.core.registry.RegistryMessage.Deltas;
import io.mooncake.core.registry.RegistryMessage.LatestLife;
import io.mooncake.core.registry.RegistryMessage.Snapshot;
import io.mooncake.core.registry.RegistryMessage.WhichLife;
import io.mooncake.core.transfer.Peer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A registry whose facts are replicated by messages: each node announces its own, and asks an owner for all of its facts when some are
 * missing. No clock and no thread: whoever carries the bytes drives it.
 *
 * <pre>
 *   conductor ─ announce, withdraw ─▶ own facts, numbered ─▶ bounded, coalescing ─▶ flush ─▶ transport ─▶ peers
 *   transport ─ onMessage, onMember, onDead ─▶ facts of others; owners to ask, askers to answer ─▶ flush
 *                                         └▶ listener: who joined, who is dead, who has our name
 * </pre>
 *
 * <p>Reading is for any thread, takes no lock and allocates nothing. {@link #flush()} and {@link #beat()} are for one thread of the
 * transport's, the only one in which messages leave.
 */
public final class ReplicatedRegistry implements Registry {
    /** Deltas that wait for the transport at most. Beyond, they are dropped: the peers notice the gap and ask. */
    static final int MAX_PENDING = 16_384;

    private static final int MAX_RECORDS = 0xFFFF;

    private final RegistryTransport transport;
    private final ClusterFacts facts = new ClusterFacts();
    private final ArrayDeque<Delta> pending = new ArrayDeque<>();
    private final Set<NodeId> toAsk = new LinkedHashSet<>();
    private final Set<NodeId> toAnswer = new LinkedHashSet<>();
    /** Who asked for the latest life of its name, and which that is. */
    private final Map<NodeId, NodeId> toTell = new LinkedHashMap<>();
    /** Lives of others that were reported as joined and not yet as dead, by name. */
    private final Map<String, NodeId> reported = new HashMap<>();
    private Consumer<? super MemberChange> listener = change -> {};
    /** The latest life of this node's name that somebody else knew when it began. */
    private @Nullable NodeId earlier;
    private @Nullable NodeId self;
    private boolean duplicate;
    private long sequence;
    private long malformed;

    /**
     * A registry that knows nobody.
     *
     * @param transport carries its messages
     */
    public ReplicatedRegistry(RegistryTransport transport) {
        this.transport = transport;
    }

    // ---- the node's side

    @Override
    public synchronized void watch(Consumer<? super MemberChange> listener) {
        this.listener = listener;
    }

    /**
     * Sends every member the question which life of a name it knows, directly.
     *
     * @param proposed the life that the node would like to be
     */
    public void ask(NodeId proposed) {
        transport.broadcast(new WhichLife(proposed).toBytes());
    }

    /** Raises over what is known here and what was answered to {@link #ask} so far. */
    @Override
    public synchronized NodeId begin(NodeId proposed) {
        NodeId known = later(later(proposed, facts.lastLife(proposed.name())), earlier);
        return known.equals(proposed) ? proposed : new NodeId(proposed.name(), known.incarnation() + 1);
    }

    private static NodeId later(NodeId life, @Nullable NodeId other) {
        return other != null && other.name().equals(life.name()) && other.incarnation() >= life.incarnation()
                ? other
                : life;
    }

    @Override
    public synchronized void join(Peer node) {
        NodeId there = facts.lastLife(node.id().name());
        if (self != null || (there != null && there.incarnation() >= node.id().incarnation())) {
            throw new MooncakeException(Kind.IN_USE, "duplicate name or life: node " + (self == null ? there : self)
                    + " is known here already; " + node.id() + " needs another name or a later incarnation");
        }
        self = node.id();
        duplicate = false;
        sequence = 0;
        say(new NodeFacts(node.addresses(), List.of(), node.site()));
    }

    /**
     * Replaces what the node says of itself.
     *
     * @param node the node that joined, and where its engines listen now
     * @param regions what peers may read
     * @throws MooncakeException ILLEGAL_STATE when it is another node
     */
    public synchronized void announceNode(Peer node, List<RegionFact> regions) {
        if (!node.id().equals(self)) {
            throw new MooncakeException(Kind.ILLEGAL_STATE, "node " + node.id() + " has not joined here: " + self
                    + " has; every fact has one writer");
        }
        say(new NodeFacts(node.addresses(), regions, node.site()));
    }

    @Override
    public synchronized void leave(NodeId node) {
        facts.dead(node);
        report(node.name(), "it left");
        if (node.equals(self)) {
            pending.clear();
            self = null;
        }
    }

    @Override
    public void announce(BlockRef written) {
        say(new Written(written));
    }

    @Override
    public void withdraw(BlockRef evicted) {
        say(Evicted.of(evicted));
    }

    @Override
    public void announce(PairFigures measured) {
        say(new Measured(measured));
    }

    @Override
    public void announce(NodeSpace space) {
        say(new Room(space));
    }

    private synchronized void say(Delta delta) {
        NodeId owner = self;
        if (owner == null) {
            return;
        }
        facts.apply(new Deltas(owner, ++sequence, List.of(delta)));
        if (pending.size() == MAX_PENDING) {
            pending.clear();
        } else {
            pending.add(delta);
        }
    }

    // ---- what is known

    @Override
    public List<Peer> nodes() {
        return facts.peers();
    }

    @Override
    public @Nullable Peer peer(NodeId node) {
        return facts.peer(node);
    }

    @Override
    public List<BlockRef> locations(BlockId id) {
        return facts.locations(id);
    }

    @Override
    public long changesKnown(NodeId node) {
        return facts.changes(node);
    }

    @Override
    public List<PairFigures> figures() {
        return facts.figures();
    }

    @Override
    public @Nullable NodeSpace space(NodeId node) {
        return facts.space(node);
    }

    /**
     * What peers may read of a node.
     *
     * @param node in this incarnation
     * @return as it said last; empty when it is not known
     */
    public List<RegionFact> regions(NodeId node) {
        return facts.regions(node);
    }

    /**
     * Members of which facts are missing: asked for, and not answered yet.
     *
     * @return a copy
     */
    public List<NodeId> incomplete() {
        return facts.incomplete();
    }

    /**
     * Messages and records that could not be read, each dropped alone.
     *
     * @return how many so far
     */
    public synchronized long unread() {
        return malformed + facts.unread();
    }

    // ---- the transport's side

    /**
     * A message arrived. Never throws for what stands in it.
     *
     * @param bytes from a member
     * @return what it said, and what the transport may take from it; null when it cannot be read
     */
    public synchronized @Nullable RegistryMessage onMessage(byte[] bytes) {
        RegistryMessage message;
        try {
            message = RegistryMessage.fromBytes(bytes);
        } catch (MooncakeException e) {
            malformed++;
            return null;
        }
        switch (message) {
            case WhichLife asks -> toTell.put(asks.sender(),
                    later(later(asks.sender(), facts.lastLife(asks.sender().name())), self));
            case LatestLife told -> earlier = earlier == null ? told.sender() : later(earlier, told.sender());
            default -> onFacts(message);
        }
        return message;
    }

    private void onFacts(RegistryMessage message) {
        NodeId sender = message.sender();
        if (self != null && sender.name().equals(self.name())) {
            // An echo, or an earlier life's: of ourselves we know better. Unless somebody took our name later.
            if (sender.incarnation() > self.incarnation() && !duplicate) {
                duplicate = true;
                listener.accept(new MemberChange(MemberChange.Kind.DUPLICATE, sender, "duplicate name: node " + sender
                        + " was started later than " + self + ", with the same name; give one of them another"));
            }
            return;
        }
        switch (message) {
            case Deltas deltas -> {
                if (facts.apply(deltas)) {
                    toAsk.add(sender);
                }
            }
            case Snapshot snapshot -> {
                facts.apply(snapshot);
                if (!facts.isIncomplete(sender)) {
                    toAsk.remove(sender);
                }
            }
            case Ask _ -> toAnswer.add(sender);
            case WhichLife _,LatestLife _ -> throw new AssertionError(message);
        }
        report(sender.name(), "a later life of it was heard of");
    }

    /** Tells the listener what has become of a name since it was told last. */
    private void report(String name, String why) {
        NodeId before = reported.get(name);
        NodeId now = facts.present(name);
        if (Objects.equals(before, now) || (self != null && self.name().equals(name))) {
            return;
        }
        if (before != null) {
            reported.remove(name);
            listener.accept(new MemberChange(MemberChange.Kind.DEAD, before, why));
        }
        if (now != null) {
            reported.put(name, now);
            listener.accept(new MemberChange(MemberChange.Kind.JOINED, now, "its facts are known here"));
        }
    }

    /**
     * A node is a member, anew or again: its facts are asked for.
     *
     * @param member who
     */
    public synchronized void onMember(NodeId member) {
        if (!member.equals(self) && facts.member(member)) {
            toAsk.add(member);
        }
        report(member.name(), "a later life of it is a member");
    }

    /**
     * A node is not a member any more: all its blocks are unreadable from now on.
     *
     * @param member who
     * @param why in words
     */
    public synchronized void onDead(NodeId member, String why) {
        if (!member.equals(self)) {
            facts.dead(member);
            report(member.name(), why);
            toAsk.remove(member);
            toAnswer.remove(member);
        }
    }

    /**
     * Sends what is due: deltas, questions, answers.
     *
     * @return how many messages
     */
    public int flush() {
        List<Runnable> due = new ArrayList<>();
        synchronized (this) {
            toTell.forEach((asker, life) -> due.add(() -> transport.send(asker, new LatestLife(life).toBytes())));
            toTell.clear();
            NodeId owner = self;
            while (owner != null && !pending.isEmpty()) {
                long first = sequence - pending.size() + 1;
                byte[] message = new Deltas(owner, first, fill(pending)).toBytes();
                due.add(() -> transport.broadcast(message));
            }
            if (owner != null) {
                toAsk.forEach(asked -> due.add(() -> transport.send(asked, new Ask(owner).toBytes())));
                toAsk.clear();
            }
            if (owner != null && !toAnswer.isEmpty()) {
                List<byte[]> answer = snapshot(owner);
                for (NodeId asker : toAnswer) {
                    answer.forEach(part -> due.add(() -> transport.sendBulk(asker, part)));
                }
                toAnswer.clear();
            }
        }
        // Unlocked: the transport may block.
        due.forEach(Runnable::run);
        return due.size();
    }

    /**
     * Says what the last number is, so that a peer notices that the last deltas were lost; asks again who did not answer. To be called
     * every so often, before {@link #flush()}.
     */
    public void beat() {
        byte[] message;
        synchronized (this) {
            NodeId owner = self;
            if (owner == null) {
                return;
            }
            message = new Deltas(owner, sequence - pending.size() + 1, List.of()).toBytes();
            for (NodeId life : facts.silent()) {
                if (!life.equals(owner)) {
                    toAsk.add(life);
                }
            }
        }
        transport.broadcast(message);
    }

    private List<byte[]> snapshot(NodeId owner) {
        ArrayDeque<Delta> all = new ArrayDeque<>(facts.factsOf(owner));
        List<List<Delta>> parts = new ArrayList<>();
        do {
            parts.add(fill(all));
        } while (!all.isEmpty());
        List<byte[]> messages = new ArrayList<>(parts.size());
        for (int i = 0; i < parts.size(); i++) {
            messages.add(new Snapshot(owner, sequence, i, parts.size(), parts.get(i)).toBytes());
        }
        return messages;
    }

    /** Takes as many as one message has room for. */
    private static List<Delta> fill(ArrayDeque<Delta> from) {
        List<Delta> taken = new ArrayList<>();
        int room = RegistryMessage.MAX_BYTES - DeltaCodec.HEADER_BYTES;
        while (!from.isEmpty() && taken.size() < MAX_RECORDS) {
            int bytes = DeltaCodec.bytes(from.peekFirst());
            if (bytes > room) {
                break;
            }
            room -= bytes;
            taken.add(from.removeFirst());
        }
        return taken;
    }
}
