package io.mooncake.core.registry;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.transfer.Peer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * The registry of the nodes of one process: they share one object, hence one truth. Any thread.
 *
 * <p>Nodes of other processes can be given by address: then blocks of theirs are read by {@link BlockRef}, which says what the registry
 * cannot know.
 */
public final class LocalRegistry implements Registry {
    private static final int MAX_ADDRESSED = 4096;

    private final ConcurrentMap<String, Peer> members = new ConcurrentHashMap<>();
    private final ConcurrentMap<String, Map<String, String>> addresses = new ConcurrentHashMap<>();
    private final ConcurrentMap<NodeId, Peer> addressed = new ConcurrentHashMap<>();
    private final ConcurrentMap<BlockId, List<BlockRef>> blocks = new ConcurrentHashMap<>();
    private final ConcurrentMap<Pair, PairFigures> figures = new ConcurrentHashMap<>();
    private final ConcurrentMap<NodeId, NodeSpace> spaces = new ConcurrentHashMap<>();

    private record Pair(NodeId reader, NodeId holder) {}

    /** A registry that knows nobody. */
    public LocalRegistry() {}

    /**
     * Says where a node of another process is reached.
     *
     * @param name the node's name
     * @param engine the engine's name, for example {@code tcp}
     * @param address what that engine advertises there, for tcp {@code host:port}
     * @return this
     */
    public LocalRegistry withAddress(String name, String engine, String address) {
        addresses.merge(name, Map.of(engine, address), (old, added) -> {
            Map<String, String> all = new HashMap<>(old);
            all.putAll(added);
            return Map.copyOf(all);
        });
        addressed.keySet().removeIf(id -> id.name().equals(name));
        return this;
    }

    @Override
    public void join(Peer self) {
        Peer there = members.putIfAbsent(self.id().name(), self);
        if (there != null) {
            throw new MooncakeException(Kind.IN_USE, "duplicate name: node " + there.id()
                    + " is a member already; close it or give the new node another name");
        }
    }

    @Override
    public void leave(NodeId node) {
        members.computeIfPresent(node.name(), (name, member) -> member.id().equals(node) ? null : member);
        for (BlockId id : blocks.keySet()) {
            blocks.computeIfPresent(id, (key, refs) -> without(refs, node, null));
        }
        figures.keySet().removeIf(pair -> pair.reader.equals(node) || pair.holder.equals(node));
        spaces.remove(node);
    }

    @Override
    public List<Peer> nodes() {
        return List.copyOf(members.values());
    }

    @Override
    public @Nullable Peer peer(NodeId node) {
        Peer member = members.get(node.name());
        if (member != null) {
            return member.id().equals(node) ? member : null;
        }
        Peer known = addressed.get(node);
        if (known != null) {
            return known;
        }
        Map<String, String> given = addresses.get(node.name());
        if (addressed.size() >= MAX_ADDRESSED) {
            // Process lives that ended long ago: the cache begins anew.
            addressed.clear();
        }
        return given == null ? null : addressed.computeIfAbsent(node, id -> new Peer(id, given));
    }

    @Override
    public List<BlockRef> locations(BlockId id) {
        List<BlockRef> refs = blocks.get(id);
        return refs == null ? List.of() : refs;
    }

    @Override
    public void announce(BlockRef written) {
        blocks.compute(written.id(), (id, refs) -> {
            if (refs == null) {
                return List.of(written);
            }
            List<BlockRef> all = new ArrayList<>(refs.size() + 1);
            for (BlockRef ref : refs) {
                if (!ref.node().equals(written.node())) {
                    all.add(ref);
                }
            }
            all.add(written);
            return List.copyOf(all);
        });
    }

    @Override
    public void withdraw(BlockRef evicted) {
        blocks.computeIfPresent(evicted.id(), (id, refs) -> without(refs, evicted.node(), evicted));
    }

    @Override
    public void announce(PairFigures measured) {
        Pair pair = new Pair(measured.reader(), measured.holder());
        if (measured.figures().isEmpty()) {
            figures.remove(pair);
        } else {
            figures.put(pair, measured);
        }
    }

    @Override
    public List<PairFigures> figures() {
        return figures.values()
                .stream()
                .filter(pair -> peer(pair.reader()) != null && peer(pair.holder()) != null)
                .toList();
    }

    @Override
    public void announce(NodeSpace space) {
        spaces.put(space.node(), space);
    }

    @Override
    public @Nullable NodeSpace space(NodeId node) {
        return spaces.get(node);
    }

    private static @Nullable List<BlockRef> without(List<BlockRef> refs, NodeId node, @Nullable BlockRef exactly) {
        List<BlockRef> left = new ArrayList<>(refs);
        boolean changed = left.removeIf(ref -> exactly == null ? ref.node().equals(node) : ref.equals(exactly));
        return !changed ? refs : left.isEmpty() ? null : List.copyOf(left);
    }
}
