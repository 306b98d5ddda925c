package io.mooncake.rdma.machines;

import io.mooncake.core.NodeConfig;
import io.mooncake.core.NodeConfigBuilder;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.rdma.RdmaConfig;
import io.mooncake.rdma.RdmaTransferEngine;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** What both programs know: where the nodes are, and what each life of the owner writes. */
final class Blocks {
    static final String OWNER = "owner";
    static final String READER = "reader";
    static final String OWNER_ADDRESS = "10.77.0.1";
    static final String READER_ADDRESS = "10.77.0.2";
    /** Where the owner's references are handed over, in the folder that the reader sees. */
    static final String REFERENCES = "references";
    /** The longest one takes long enough for the other machine to be killed meanwhile. */
    static final long[] LENGTHS = {8, 4096, 300_000, 1 << 20, 16 << 20};
    private static final long LONGEST = 16 << 20;
    // In the virtual machines, of which each has its own.
    private static final int PORT = 7100;
    private static final long GOLDEN = 0x9E3779B97F4A7C15L;

    private Blocks() {}

    /** A node of one of the machines. */
    static NodeConfig config(String name, LocalRegistry registry) {
        boolean owner = name.equals(OWNER);
        registry.withAddress(owner ? READER : OWNER, "tcp",
                (owner ? READER_ADDRESS : OWNER_ADDRESS) + ":" + PORT);
        NodeConfigBuilder builder = NodeConfig.builder(name)
                .registry(registry)
                .blockSize(LONGEST)
                .poolSize((LENGTHS.length + 1) * LONGEST)
                .spareSlots(1)
                .sharedMemory("off")
                .set("tcp.bind", (owner ? OWNER_ADDRESS : READER_ADDRESS) + ":" + PORT)
                .set("cluster.secret", "two machines and one cable between them");
        return builder.addEngine(context -> RdmaTransferEngine.create(context, RdmaConfig.defaults())).build();
    }

    /** Eight bytes of a block of one life of the owner. */
    private static long word(NodeId owner, int block, long at) {
        return (at + (long) block * LONGEST) * GOLDEN ^ owner.incarnation() * GOLDEN;
    }

    static void write(MemorySegment to, NodeId owner, int block) {
        for (long at = 0; at < to.byteSize(); at += Long.BYTES) {
            to.set(ValueLayout.JAVA_LONG_UNALIGNED, at, word(owner, block, at));
        }
    }

    /** Where the first byte is that this life did not write; -1 when all are right. */
    static long firstWrong(MemorySegment in, NodeId owner, int block) {
        for (long at = 0; at < in.byteSize(); at += Long.BYTES) {
            if (in.get(ValueLayout.JAVA_LONG_UNALIGNED, at) != word(owner, block, at)) {
                return at;
            }
        }
        return -1;
    }
}
