package io.mooncake.core.registry;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Version;
import io.mooncake.core.registry.Delta.Evicted;
import io.mooncake.core.registry.Delta.Measured;
import io.mooncake.core.registry.Delta.NodeFacts;
import io.mooncake.core.registry.Delta.RegionFact;
import io.mooncake.core.registry.Delta.Room;
import io.mooncake.core.registry.Delta.Unread;
import io.mooncake.core.registry.Delta.Written;
import io.mooncake.core.registry.RegistryMessage.Deltas;
import io.mooncake.core.registry.RegistryMessage.Snapshot;
import io.mooncake.core.transfer.Peer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * What every owner said of itself, put together: no clock, no I/O, no thread. One writer at a time (a lock sees to it); readers are any
 * thread, take no lock and allocate nothing.
 *
 * <p>The rules, by (incarnation, number) of the owner and of nobody else:
 *
 * <pre>
 *   deltas      lower incarnation                   dropped
 *               higher incarnation                  all facts of the earlier life forgotten, then as follows
 *               numbers known already               dropped
 *               the next number, nothing missing    applied
 *               a number too high                   kept, within limits; the owner is to be asked for a snapshot
 *   snapshot    number below what is known          dropped
 *               all its parts are here              replaces the owner's facts whole; then what was kept and follows is applied
 *   dead        that life or an earlier one         its blocks and keys forgotten, what it says ignored until it is a member again
 * </pre>
 *
 * <p>So facts converge to the owner's whatever is lost, doubled or reordered, as soon as one snapshot and what follows it arrive.
 */
final class ClusterFacts {
    /** Names that are remembered at most; beyond, dead ones are forgotten first. */
    static final int MAX_OWNERS = 4096;
    /** Deltas of one owner that are kept at most until its snapshot is here. */
    static final int MAX_KEPT = 65_536;

    private final ConcurrentMap<BlockId, List<BlockRef>> blocks = new ConcurrentHashMap<>();
    private final ConcurrentMap<NodeId, Member> members = new ConcurrentHashMap<>();
    private final Map<String, Owner> owners = new HashMap<>();
    private long unread;
    private long stale;

    /** What a life said of itself, and what engines need of that. */
    private record Member(Peer peer, NodeFacts facts) {}

    /** What is known of one name. */
    private static final class Owner {
        NodeId life;
        boolean dead;
        /** Whether nothing up to {@link #sequence} is missing. */
        boolean complete;
        long sequence;
        final RefTable blocks = new RefTable();
        /** Of the last block: nearly all blocks of an owner have the same version, so one object does for them. */
        Version version = new Version(0, 0);
        /** What it measured, by the life that it read from. */
        final Map<NodeId, PairFigures> figures = new HashMap<>();
        @Nullable
        NodeSpace space;
        /** Parts of a snapshot that is arriving. */
        final Map<Integer, List<Delta>> parts = new HashMap<>();
        long partsOf = -1;
        /** Deltas that follow a gap, so that a snapshot taken before them is no new gap. */
        final ArrayDeque<Deltas> kept = new ArrayDeque<>();
        long keptDeltas;
        /** Whether a snapshot is asked for or arriving: then another one would be in its way. */
        boolean asked;

        Owner(NodeId life) {
            this.life = life;
        }

        void forgetKept() {
            kept.clear();
            keptDeltas = 0;
        }
    }

    // ---- readers

    List<BlockRef> locations(BlockId id) {
        List<BlockRef> refs = blocks.get(id);
        return refs == null ? List.of() : refs;
    }

    @Nullable
    Peer peer(NodeId life) {
        Member member = members.get(life);
        return member == null ? null : member.peer;
    }

    List<Peer> peers() {
        return members.values().stream().map(Member::peer).toList();
    }

    List<RegionFact> regions(NodeId life) {
        Member member = members.get(life);
        return member == null ? List.of() : member.facts.regions();
    }

    /** The number of a life's last change, when none before it is missing. */
    synchronized long changes(NodeId life) {
        Owner owner = owners.get(life.name());
        return owner != null && owner.life.equals(life) && owner.complete ? owner.sequence : 0;
    }

    /** Between lives that are members. */
    synchronized List<PairFigures> figures() {
        return owners.values()
                .stream()
                .filter(owner -> members.containsKey(owner.life))
                .flatMap(owner -> owner.figures.values().stream())
                .filter(pair -> members.containsKey(pair.holder()))
                .toList();
    }

    /** As a member said last. */
    synchronized @Nullable NodeSpace space(NodeId life) {
        Owner owner = owners.get(life.name());
        return owner != null && owner.life.equals(life) && members.containsKey(life) ? owner.space : null;
    }

    /** Records that could not be read. */
    synchronized long unread() {
        return unread;
    }

    /** Messages of lives that are over. */
    synchronized long stale() {
        return stale;
    }

    // ---- membership

    /** A life is a member. True when its facts are to be asked for. */
    synchronized boolean member(NodeId life) {
        Owner owner = owner(life);
        if (owner == null) {
            return false;
        }
        owner.dead = false;
        return !owner.complete && ask(owner);
    }

    /** True when nobody did lately. */
    private static boolean ask(Owner owner) {
        boolean first = !owner.asked;
        owner.asked = true;
        return first;
    }

    /** A life is over, or is not to be reached by anybody: its blocks are unreadable from now on. */
    synchronized void dead(NodeId life) {
        Owner owner = owner(life);
        if (owner != null) {
            forgetFacts(owner);
            owner.dead = true;
        }
    }

    /** True when a life is a member as far as is known, but facts of it are missing. */
    synchronized boolean isIncomplete(NodeId life) {
        Owner owner = owners.get(life.name());
        return owner != null && owner.life.equals(life) && !owner.dead && !owner.complete;
    }

    /** Members of which facts are missing. */
    synchronized List<NodeId> incomplete() {
        return owners.values()
                .stream()
                .filter(owner -> !owner.dead && !owner.complete)
                .map(owner -> owner.life)
                .toList();
    }

    /** Those of them that neither were asked nor sent a part of the answer since the last call: to be asked again. */
    synchronized List<NodeId> silent() {
        List<NodeId> silent = new ArrayList<>();
        for (Owner owner : owners.values()) {
            if (!owner.dead && !owner.complete && !owner.asked) {
                silent.add(owner.life);
            }
            owner.asked = false;
        }
        return silent;
    }

    /** The life of a name that is a member and said where it is reached. */
    synchronized @Nullable NodeId present(String name) {
        Owner owner = owners.get(name);
        return owner != null && !owner.dead && members.containsKey(owner.life) ? owner.life : null;
    }

    /** The life of a name that was heard of last, dead or not. */
    synchronized @Nullable NodeId lastLife(String name) {
        Owner owner = owners.get(name);
        return owner == null ? null : owner.life;
    }

    // ---- facts

    /** Applies what fits. True when the owner is to be asked for a snapshot. */
    synchronized boolean apply(Deltas deltas) {
        Owner owner = living(deltas.sender());
        if (owner == null) {
            return false;
        }
        if (owner.sequence == 0 && deltas.first() == 1) {
            owner.complete = true;
        }
        if (!owner.complete || deltas.first() > owner.sequence + 1) {
            owner.complete = false;
            keep(owner, deltas);
            return ask(owner);
        }
        applyNext(owner, deltas);
        return false;
    }

    private void applyNext(Owner owner, Deltas deltas) {
        long skip = owner.sequence + 1 - deltas.first();
        for (int i = (int) Math.min(skip, deltas.deltas().size()); i < deltas.deltas().size(); i++) {
            apply(owner, deltas.deltas().get(i));
            owner.sequence++;
        }
    }

    private static void keep(Owner owner, Deltas deltas) {
        if (owner.keptDeltas + deltas.deltas().size() > MAX_KEPT) {
            owner.forgetKept();
        }
        owner.kept.add(deltas);
        owner.keptDeltas += deltas.deltas().size();
    }

    /** Takes a part in, and replaces the owner's facts when it was the last one missing. */
    synchronized void apply(Snapshot snapshot) {
        Owner owner = living(snapshot.sender());
        if (owner == null || snapshot.sequence() < owner.sequence || snapshot.sequence() < owner.partsOf
                || (owner.complete && snapshot.sequence() == owner.sequence)) {
            return;
        }
        if (snapshot.sequence() > owner.partsOf) {
            owner.parts.clear();
            owner.partsOf = snapshot.sequence();
        }
        owner.asked = true;
        owner.parts.put(snapshot.part(), snapshot.facts());
        if (owner.parts.size() < snapshot.parts()) {
            return;
        }
        List<List<Delta>> whole = new ArrayList<>(owner.parts.values());
        List<Deltas> kept = List.copyOf(owner.kept);
        forgetFacts(owner);
        whole.forEach(part -> part.forEach(fact -> apply(owner, fact)));
        owner.sequence = snapshot.sequence();
        owner.complete = true;
        for (Deltas deltas : kept) {
            if (deltas.first() <= owner.sequence + 1) {
                applyNext(owner, deltas);
            } else {
                owner.complete = false;
                keep(owner, deltas);
            }
        }
    }

    /** All facts of an owner as deltas from nothing. */
    synchronized List<Delta> factsOf(NodeId life) {
        Owner owner = owners.get(life.name());
        List<Delta> facts = new ArrayList<>();
        Member member = members.get(life);
        if (owner != null && owner.life.equals(life) && member != null) {
            facts.add(member.facts);
            owner.blocks.forEach(ref -> facts.add(new Written(ref)));
            owner.figures.values().forEach(pair -> facts.add(new Measured(pair)));
            if (owner.space != null) {
                facts.add(new Room(owner.space));
            }
        }
        return facts;
    }

    /** The owner if what this life says counts; null, and counted, when the life is over. */
    private @Nullable Owner living(NodeId life) {
        Owner owner = owner(life);
        if (owner == null || owner.dead) {
            stale++;
            return null;
        }
        return owner;
    }

    /** The owner in this life or, where that is a new one, from now on in it; null when there was a later one. */
    private @Nullable Owner owner(NodeId life) {
        Owner owner = owners.get(life.name());
        if (owner == null) {
            makeRoom();
            owner = new Owner(life);
            owners.put(life.name(), owner);
        } else if (life.incarnation() > owner.life.incarnation()) {
            forgetFacts(owner);
            owner.life = life;
            owner.dead = false;
        } else if (life.incarnation() < owner.life.incarnation()) {
            return null;
        }
        return owner;
    }

    private void makeRoom() {
        if (owners.size() >= MAX_OWNERS) {
            owners.values().removeIf(owner -> owner.dead);
        }
    }

    private void forgetFacts(Owner owner) {
        owner.blocks.forEach(ref -> blocks.computeIfPresent(ref.id(), (id, refs) -> without(refs, ref)));
        owner.blocks.clear();
        owner.figures.clear();
        owner.space = null;
        members.remove(owner.life);
        owner.parts.clear();
        owner.partsOf = -1;
        owner.sequence = 0;
        owner.complete = false;
        owner.forgetKept();
        owner.asked = false;
    }

    private void apply(Owner owner, Delta delta) {
        switch (delta) {
            case NodeFacts facts ->
                members.put(owner.life, new Member(new Peer(owner.life, facts.addresses(), facts.site()), facts));
            case Written written -> put(owner, shared(owner, written.ref()));
            case Evicted evicted -> {
                BlockRef there = owner.blocks.get(evicted.id());
                if (there != null && evicted.names(there)) {
                    owner.blocks.remove(evicted.id());
                    blocks.computeIfPresent(evicted.id(), (id, refs) -> without(refs, there));
                }
            }
            case Measured measured -> put(owner, measured.pair());
            case Room room -> owner.space = room.space();
            case Unread _ -> unread++;
        }
    }

    /** The same reference made of objects that are here already: a decoded one brings its own node and version. */
    private static BlockRef shared(Owner owner, BlockRef ref) {
        if (!ref.version().equals(owner.version)) {
            owner.version = ref.version();
        }
        return new BlockRef(ref.id(), owner.version, owner.life, ref.region(), ref.offset(), ref.length(),
                ref.guardIndex(), ref.guard());
    }

    private static void put(Owner owner, PairFigures pair) {
        if (pair.figures().isEmpty()) {
            owner.figures.remove(pair.holder());
        } else if (owner.figures.containsKey(pair.holder()) || owner.figures.size() < MAX_OWNERS) {
            owner.figures.put(pair.holder(), pair);
        }
    }

    private void put(Owner owner, BlockRef ref) {
        BlockRef before = owner.blocks.put(ref);
        blocks.compute(ref.id(), (id, refs) -> {
            if (refs == null) {
                return List.of(ref);
            }
            List<BlockRef> all = new ArrayList<>(refs);
            if (before != null) {
                all.remove(before);
            }
            all.add(ref);
            return List.copyOf(all);
        });
    }

    private static @Nullable List<BlockRef> without(List<BlockRef> refs, BlockRef gone) {
        List<BlockRef> left = new ArrayList<>(refs);
        left.remove(gone);
        return left.isEmpty() ? null : List.copyOf(left);
    }
}
