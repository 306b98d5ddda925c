package io.mooncake.bench.cli;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Version;
import io.mooncake.core.registry.RegistryTransport;
import io.mooncake.core.registry.ReplicatedRegistry;
import io.mooncake.core.transfer.Peer;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.function.Consumer;

/**
 * The registries of many nodes in one process, without a network: many owners, each with its share of the facts, and one node that joins them,
 * gets everything from them and follows their changes. What is measured is what our code takes of processor time, memory and bytes. One
 * thread.
 *
 * <pre>
 *   owner 0 ─┐
 *   owner 1 ─┼─ bytes ─▶ joiner        Ask ─▶ snapshots; deltas; beats
 *   ...     ─┘
 * </pre>
 */
final class RegistryScale {
    /** Facts that an owner announces before they are sent: what comes in within a millisecond or so. */
    private static final int BATCH = 64;
    private static final long BLOCK = 1 << 20;
    private static final long SEED = 42;
    private static final int IDS_AT_A_TIME = 512;
    private static final int LOOKUPS_AT_A_TIME = 200 * IDS_AT_A_TIME;
    private static final int LOOKUP_ROUNDS = 30;

    private final int facts;
    private final int share;
    private final List<Member> owners = new ArrayList<>();
    private final Member joiner;
    private final Random random = new Random(SEED);

    /**
     * What something took.
     *
     * @param changes how many facts it was about
     * @param ns how long
     * @param messages how many
     * @param bytes of these
     */
    record Cost(long changes, long ns, long messages, long bytes) {
        double perSecond() {
            return changes * 1e9 / ns;
        }

        double bytesEach() {
            return (double) bytes / changes;
        }
    }

    /** A registry and the messages that it sent. */
    private static final class Member implements RegistryTransport {
        final NodeId id;
        final ReplicatedRegistry registry = new ReplicatedRegistry(this);
        final Queue<byte[]> sent = new ArrayDeque<>();
        long messages;
        long bytes;

        Member(String name) {
            id = new NodeId(name, 1);
        }

        @Override
        public void broadcast(byte[] message) {
            messages++;
            bytes += message.length;
            sent.add(message);
        }

        @Override
        public void send(NodeId to, byte[] message) {
            broadcast(message);
        }

        void deliver(Consumer<byte[]> to) {
            for (byte[] message = sent.poll(); message != null; message = sent.poll()) {
                to.accept(message);
            }
        }
    }

    /**
     * Nobody has announced anything yet.
     *
     * @param nodes that have blocks
     * @param facts of all of them together
     */
    RegistryScale(int nodes, int facts) {
        share = facts / nodes;
        this.facts = share * nodes;
        for (int i = 0; i < nodes; i++) {
            Member owner = new Member("owner-" + i);
            owner.registry.join(new Peer(owner.id, Map.of("tcp", "10.0.0.1:7000")));
            owners.add(owner);
        }
        joiner = new Member("joiner");
        joiner.registry.join(new Peer(joiner.id, Map.of("tcp", "10.0.0.2:7000")));
    }

    /** Of this thread, so that what else the machine does meanwhile counts less. */
    private static long cpuNs() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    /** Blocks that there are really: as many of each owner as of any other. */
    int facts() {
        return facts;
    }

    private static BlockId id(int owner, int block) {
        return BlockId.of("block " + block + " of " + owner);
    }

    private BlockRef ref(int owner, int block, long counter) {
        return new BlockRef(id(owner, block), new Version(counter, 1), owners.get(owner).id, 1, block * BLOCK, BLOCK,
                block, counter << 4 | 2);
    }

    /** Every owner announces its share; the bytes go nowhere, since nobody is there yet. */
    Cost announce() {
        long startNs = cpuNs();
        long messages = 0;
        long bytes = 0;
        for (int i = 0; i < owners.size(); i++) {
            Member owner = owners.get(i);
            for (int block = 0; block < share; block++) {
                owner.registry.announce(ref(i, block, 1));
                if (block % BATCH == BATCH - 1) {
                    owner.registry.flush();
                    owner.sent.clear();
                }
            }
            owner.registry.flush();
            owner.sent.clear();
            messages += owner.messages;
            bytes += owner.bytes;
        }
        return new Cost(facts, cpuNs() - startNs, messages, bytes);
    }

    /** The joiner meets all owners, asks each, and takes their snapshots in. */
    Cost join() {
        long messages = messages();
        long bytes = bytes();
        long startNs = cpuNs();
        owners.forEach(owner -> joiner.registry.onMember(owner.id));
        joiner.registry.flush();
        joiner.deliver(question -> owners.forEach(owner -> owner.registry.onMessage(question)));
        for (Member owner : owners) {
            owner.registry.flush();
            owner.deliver(joiner.registry::onMessage);
        }
        return new Cost(facts, cpuNs() - startNs, messages() - messages, bytes() - bytes);
    }

    private long messages() {
        return owners.stream().mapToLong(owner -> owner.messages).sum();
    }

    private long bytes() {
        return owners.stream().mapToLong(owner -> owner.bytes).sum();
    }

    /**
     * Owners replace blocks, in random order: an eviction and a new version each, which are two changes.
     *
     * @param replacements how many
     */
    Cost change(int replacements) {
        long messages = messages();
        long bytes = bytes();
        long ns = 0;
        for (int done = 0; done < replacements; done += BATCH) {
            int at = random.nextInt(owners.size());
            Member owner = owners.get(at);
            List<BlockRef> gone = new ArrayList<>();
            List<BlockRef> come = new ArrayList<>();
            for (int i = 0; i < BATCH; i++) {
                int block = random.nextInt(share);
                BlockRef there = owner.registry.locations(id(at, block)).getFirst();
                gone.add(there);
                come.add(ref(at, block, there.version().counter() + 1));
            }
            for (int i = 0; i < BATCH; i++) {
                // One that was drawn twice is replaced once; the second time nothing of it is there any more.
                owner.registry.withdraw(gone.get(i));
                owner.registry.announce(come.get(i));
            }
            owner.registry.flush();
            long startNs = cpuNs();
            owner.deliver(joiner.registry::onMessage);
            ns += cpuNs() - startNs;
        }
        int batches = (replacements + BATCH - 1) / BATCH;
        return new Cost(2L * BATCH * batches, ns, messages() - messages, bytes() - bytes);
    }

    /** What an owner says every so often when nothing has changed. */
    long beatBytes() {
        Member owner = owners.getFirst();
        long before = owner.bytes;
        owner.registry.beat();
        owner.sent.clear();
        return owner.bytes - before;
    }

    /**
     * Nanoseconds of one look-up at random, each round's mean; what it finds is added up so that nothing is left out. The ids are made just
     * before, as those of a caller are, so that the cache has them and has nothing of what they lead to.
     */
    double[] lookups() {
        BlockId[] ids = new BlockId[IDS_AT_A_TIME];
        double[] means = new double[LOOKUP_ROUNDS];
        long found = 0;
        for (int round = -LOOKUP_ROUNDS; round < LOOKUP_ROUNDS; round++) {
            long ns = 0;
            for (int done = 0; done < LOOKUPS_AT_A_TIME; done += IDS_AT_A_TIME) {
                for (int i = 0; i < ids.length; i++) {
                    ids[i] = id(random.nextInt(owners.size()), random.nextInt(share));
                }
                long startNs = cpuNs();
                for (BlockId id : ids) {
                    found += joiner.registry.locations(id).size();
                }
                ns += cpuNs() - startNs;
            }
            if (round >= 0) {
                means[round] = (double) ns / LOOKUPS_AT_A_TIME;
            }
        }
        if (found != 2L * LOOKUP_ROUNDS * LOOKUPS_AT_A_TIME) {
            throw new IllegalStateException("of " + 2L * LOOKUP_ROUNDS * LOOKUPS_AT_A_TIME + " blocks " + found
                    + " were found");
        }
        Arrays.sort(means);
        return means;
    }

    /** How many blocks the joiner knows otherwise than their owner. */
    long differences() {
        long different = 0;
        for (int i = 0; i < owners.size(); i++) {
            for (int block = 0; block < share; block++) {
                BlockId id = id(i, block);
                different += joiner.registry.locations(id).equals(owners.get(i).registry.locations(id)) ? 0 : 1;
            }
        }
        return different;
    }

    /** An owner is declared dead: nanoseconds until its blocks are unreadable. */
    long forgetNs() {
        Member owner = owners.getFirst();
        long startNs = cpuNs();
        joiner.registry.onDead(owner.id, "measured");
        return cpuNs() - startNs;
    }
}
