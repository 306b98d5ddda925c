package io.mooncake.core.schedule;

import io.mooncake.core.base.Hop;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import io.mooncake.core.registry.PairFigures;
import io.mooncake.core.registry.PairFigures.Figure;
import io.mooncake.core.schedule.ClusterView.Member;
import io.mooncake.core.schedule.PlacementPlan.Action;
import io.mooncake.core.schedule.PlacementPlan.Step;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * The default plan: the cached run is what somebody has of the leading blocks; what comes after the first block that nobody has is computed.
 *
 * <pre>
 *   prefill   room now; then  fetching the cached run + (blocks to compute + those it has to compute already) * time of a block
 *   decode    room now; then  fetching all blocks     + those it has to compute already * time of a block
 *   equals    the larger share that is free, then the name
 * </pre>
 *
 * <p>Sums of times are doubles: no long has room for any number of blocks of any measured time, and below 2^53 ns they are as exact.
 */
final class PrefillDecode {
    /** Blocks that are computed, sealed and sent over together. */
    static final int RUN = 16;

    private static final Comparator<NodeId> BY_LIFE = Comparator.comparing(NodeId::name)
            .thenComparingLong(NodeId::incarnation);
    private static final Comparator<Member> BY_NAME = Comparator.comparing(member -> member.node().name());

    private record Pair(NodeId reader, NodeId holder) {}

    private record Place(NodeId node, Set<Tier> tiers) {
        boolean isInFileOnly() {
            return tiers.equals(EnumSet.of(Tier.SLOW));
        }
    }

    /** So many blocks, one behind the other, that the same nodes have: what is cached is mostly few of these, and looked at by each member. */
    private record Held(List<Place> by, int blocks) {}

    private final PlanRequest request;
    private final Map<NodeId, Member> members = new HashMap<>();
    private final List<Member> candidates;
    private final Map<Pair, Long> measuredNs = new HashMap<>();
    /** The cached run, and how many blocks it has. */
    private final List<Held> cached = new ArrayList<>();
    private int cachedBlocks;
    /** By member: how many of them it has in memory. */
    private final Map<NodeId, Integer> here = new HashMap<>();
    private final List<Step> steps = new ArrayList<>();

    private PrefillDecode(PlanRequest request, ClusterView view) {
        this.request = request;
        // Read from host memory, wherever the blocks are to be.
        view.members().forEach(member -> members.put(member.node(), member));
        List<Member> all = view.members(request.tier());
        long least = (request.blocks().size() + (long) request.outputBlocks()) * request.blockBytes();
        candidates = all.stream()
                .filter(member -> !request.avoided().contains(member.node()) && member.bytes() >= least)
                .sorted(BY_NAME)
                .toList();
        if (candidates.isEmpty()) {
            throw new MooncakeException(Kind.OUT_OF_MEMORY, "none of " + all.size() + " nodes with tier "
                    + request.tier() + ", " + request.avoided().size() + " of them avoided, is large enough for "
                    + request.blocks().size()
                    + " blocks of " + request.blockBytes() + " bytes and " + request.outputBlocks()
                    + " more: give one a larger pool, or the request fewer blocks");
        }
        for (PairFigures pair : view.figures()) {
            long ns = readNs(pair);
            // What copies inside a node take is no way to its blocks.
            if (ns > 0 && !pair.reader().equals(pair.holder())) {
                measuredNs.put(new Pair(pair.reader(), pair.holder()), ns);
            }
        }
        for (BlockId id : request.blocks()) {
            List<Place> by = places(view.holders(id));
            if (by.isEmpty()) {
                break;
            }
            Held last = cached.isEmpty() ? null : cached.getLast();
            if (last != null && last.by.equals(by)) {
                cached.set(cached.size() - 1, new Held(by, last.blocks + 1));
            } else {
                cached.add(new Held(by, 1));
            }
            cachedBlocks++;
            by.stream()
                    .filter(place -> place.tiers.contains(request.tier()))
                    .forEach(place -> here.merge(place.node, 1, Integer::sum));
        }
    }

    /** In one order, each node once. */
    private List<Place> places(List<BlockRef> holders) {
        Map<NodeId, Set<Tier>> tiers = new TreeMap<>(BY_LIFE);
        for (BlockRef ref : holders) {
            if (members.containsKey(ref.node())) {
                tiers.computeIfAbsent(ref.node(), any -> EnumSet.noneOf(Tier.class)).add(ref.tier());
            }
        }
        List<Place> places = new ArrayList<>(tiers.size());
        tiers.forEach((node, has) -> places.add(new Place(node, has)));
        return places;
    }

    /** {@link Scheduler#plan}. */
    static PlacementPlan plan(PlanRequest request, ClusterView view) {
        return new PrefillDecode(request, view).choose();
    }

    /** {@link Scheduler#place}. */
    static @Nullable NodeId place(long bytes, ClusterView view) {
        Member best = null;
        for (Member member : view.members().stream().sorted(BY_NAME).toList()) {
            if (member.bytes() >= bytes && (best == null || isEmptier(member, best, bytes))) {
                best = member;
            }
        }
        return best == null ? null : best.node();
    }

    private static boolean isEmptier(Member member, Member best, long bytes) {
        boolean fits = member.freeBytes() >= bytes;
        return fits != best.freeBytes() >= bytes
                ? fits
                : fits
                        ? freeShare(member) > freeShare(best)
                        : (double) member.roomBytes() / member.bytes() > (double) best.roomBytes() / best.bytes();
    }

    // ---- who

    private PlacementPlan choose() {
        int blocks = request.blocks().size();
        Member prefill = cachedBlocks == blocks ? null : best(candidates, this::prefillNs, 0);
        List<Member> others = candidates.stream().filter(member -> !member.equals(prefill)).toList();
        Member decode = best(others.isEmpty() ? candidates : others, member -> decodeNs(member, prefill),
                request.outputBlocks());
        NodeId decoding = decode.node();
        if (prefill == null) {
            serveCached(decoding);
        } else if (prefill.equals(decode)) {
            serveAlone(decoding);
        } else {
            split(prefill.node(), decoding);
        }
        return new PlacementPlan(prefill == null ? null : prefill.node(), decoding, steps);
    }

    private Member best(List<Member> of, ToDoubleFunction<Member> ns, int more) {
        Member best = of.getFirst();
        double bestNs = ns.applyAsDouble(best);
        for (Member member : of.subList(1, of.size())) {
            double memberNs = ns.applyAsDouble(member);
            if (isBetter(member, missingBytes(member, more), best, missingBytes(best, more),
                    Double.compare(memberNs, bestNs))) {
                best = member;
                bestNs = memberNs;
            }
        }
        return best;
    }

    /** Room now, then time, then the share that is free. */
    private static boolean isBetter(Member member, long neededBytes, Member best, long bestNeededBytes, int byTime) {
        boolean fits = member.roomBytes() >= neededBytes;
        boolean bestFits = best.roomBytes() >= bestNeededBytes;
        return fits != bestFits ? fits : byTime != 0 ? byTime < 0 : freeShare(member) > freeShare(best);
    }

    private static double freeShare(Member member) {
        return (double) member.freeBytes() / member.bytes();
    }

    /** Room that a member would have to find. */
    private long missingBytes(Member member, int more) {
        long there = here.getOrDefault(member.node(), 0);
        return (request.blocks().size() - there + more) * request.blockBytes();
    }

    private double prefillNs(Member member) {
        double compute = request.blocks().size() - cachedBlocks + (double) member.computing();
        return fetchNs(member, null) + compute * request.computeNs();
    }

    private double decodeNs(Member member, @Nullable Member prefill) {
        double computed = prefill == null || prefill.equals(member)
                ? 0
                : (request.blocks().size() - cachedBlocks) * (double) readNs(member, prefill);
        return fetchNs(member, prefill) + computed + (double) member.computing() * request.computeNs();
    }

    /** All of the cached run, one block after the other, each from where it is nearest; the node that computes has it by then, too. */
    private double fetchNs(Member to, @Nullable Member alsoThere) {
        double sum = 0;
        for (Held held : cached) {
            double nearest = alsoThere == null ? Double.MAX_VALUE : readNs(to, alsoThere);
            for (Place place : held.by) {
                Member from = members.get(place.node);
                if (from != null) {
                    // What is only in a file has to be brought up first: about as long as from far away.
                    double up = place.isInFileOnly() ? TopologyMatrix.usualNs(Hop.FAR, request.blockBytes()) : 0;
                    nearest = Math.min(nearest, up + readNs(to, from));
                }
            }
            sum += nearest * held.blocks;
        }
        return sum;
    }

    private long readNs(Member reader, Member holder) {
        if (reader.node().equals(holder.node())) {
            return 0;
        }
        Long measured = measuredNs.get(new Pair(reader.node(), holder.node()));
        return measured != null
                ? measured
                : TopologyMatrix.usualNs(reader.site().hopTo(holder.site()), request.blockBytes());
    }

    /** The fastest of its ways, for reads of this size; 0 where nothing of about that size was measured. */
    private long readNs(PairFigures pair) {
        long fastest = 0;
        long closest = Long.MAX_VALUE;
        for (Figure figure : pair.figures()) {
            if (figure.upToBytes() >= request.blockBytes() && figure.upToBytes() <= closest) {
                fastest = figure.upToBytes() < closest || fastest == 0
                        ? figure.readNs()
                        : Math.min(fastest, figure.readNs());
                closest = figure.upToBytes();
            }
        }
        return fastest;
    }

    // ---- what

    private void split(NodeId prefill, NodeId decode) {
        int blocks = request.blocks().size();
        boolean prefillFirst = prefill.name().compareTo(decode.name()) < 0;
        int first = add(Action.RESERVE, prefillFirst ? prefill : decode, 0, blocks, List.of());
        int second = add(Action.RESERVE, prefillFirst ? decode : prefill, 0, blocks, List.of(first));
        int before = fetch(prefill, prefillFirst ? first : second);
        List<Integer> arrived = new ArrayList<>();
        int reserved = prefillFirst ? second : first;
        arrived.add(fetch(decode, reserved));
        for (int from = cachedBlocks; from < blocks; from += RUN) {
            int until = Math.min(from + RUN, blocks);
            before = add(Action.PREFILL, prefill, from, until, List.of(before));
            int sealed = add(Action.SEAL, prefill, from, until, List.of(before));
            arrived.add(add(Action.TRANSFER, decode, from, until, List.of(sealed, reserved)));
        }
        add(Action.RELEASE, prefill, 0, blocks, arrived);
        decode(decode, arrived);
    }

    private void serveAlone(NodeId node) {
        int blocks = request.blocks().size();
        int before = fetch(node, add(Action.RESERVE, node, 0, blocks, List.of()));
        List<Integer> sealed = new ArrayList<>();
        for (int from = cachedBlocks; from < blocks; from += RUN) {
            int until = Math.min(from + RUN, blocks);
            before = add(Action.PREFILL, node, from, until, List.of(before));
            sealed.add(add(Action.SEAL, node, from, until, List.of(before)));
        }
        decode(node, sealed);
    }

    private void serveCached(NodeId node) {
        decode(node, List.of(fetch(node, add(Action.RESERVE, node, 0, request.blocks().size(), List.of()))));
    }

    /** The cached run, also where it is there already: it may have left since. */
    private int fetch(NodeId node, int reserved) {
        return cachedBlocks == 0 ? reserved : add(Action.TRANSFER, node, 0, cachedBlocks, List.of(reserved));
    }

    private void decode(NodeId node, List<Integer> after) {
        int decoded = add(Action.DECODE, node, 0, request.blocks().size(), after);
        add(Action.RELEASE, node, 0, request.blocks().size(), List.of(decoded));
    }

    private int add(Action action, NodeId node, int from, int until, List<Integer> after) {
        steps.add(new Step(action, node, from, until, after));
        return steps.size() - 1;
    }
}
