package io.mooncake.bench.cli;

import io.mooncake.core.NodeConfigBuilder;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.sim.HostTier;
import io.mooncake.cuda.Cuda;
import io.mooncake.cuda.CudaConfig;
import io.mooncake.cuda.CudaDevices;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The tier above host memory that each node of a replay has. Immutable.
 *
 * @param kind what it is
 * @param blocks that it keeps
 */
record ReplayVram(Kind kind, int blocks) {
    /** A tier above host memory. */
    enum Kind {
        /** Host memory that stands in for a device's. */
        DRAM,
        /** Memory of a GPU, or of what is found in the place of the CUDA runtime; nodes take the GPUs by turns. */
        CUDA;

        /**
         * Looks whether there is one.
         *
         * @throws BadInputException with what is missing
         */
        void check() {
            Throwable why = this == CUDA ? Cuda.unavailabilityCause() : null;
            if (why != null) {
                throw new BadInputException("--vram = cuda: " + why.getMessage(), why);
            }
        }

        /** Gives a node such a pool, whose blocks take as many bytes as they need. */
        void setRanges(NodeConfigBuilder builder, SizeClass largest, long bytes) {
            if (this == DRAM) {
                builder.vram(() -> HostTier.ofRanges(Tier.VRAM, largest.count(), bytes, largest.blockBytes()));
                return;
            }
            CudaDevices devices = CudaDevices.open(CudaConfig.defaults().withPeerProbe(false));
            builder.vram(() -> devices.poolOfRanges(0, largest, bytes))
                    .addEngine(context -> devices.engine(context, 0));
        }
    }

    private static final String KIND = "vram";
    private static final String BLOCKS = "vram.blocks";
    /** Device memory keeps one slot of so many free, and at least one. */
    private static final int SPARE_SHARE = 15;

    /**
     * Checks that there is a GPU where one is asked for.
     *
     * @throws BadInputException with what is missing
     */
    ReplayVram {
        kind.check();
    }

    /** Slots for that many blocks. */
    int slots() {
        return blocks + blocks / SPARE_SHARE + 1;
    }

    /** For the command line of a process, {@code key=value} each. */
    List<String> settings() {
        return List.of(KIND + "=" + kind, BLOCKS + "=" + blocks);
    }

    /** What the JVM of a process with such a node needs. */
    List<String> jvmFlags() {
        List<String> flags = new ArrayList<>();
        if (kind == Kind.CUDA) {
            flags.add("--enable-native-access=ALL-UNNAMED");
            String library = System.getProperty("io.mooncake.cuda.library");
            if (library != null) {
                flags.add("-Dio.mooncake.cuda.library=" + library);
            }
        }
        return flags;
    }

    /** Sets a node's settings, those of {@link #settings} among them. */
    static void apply(Map<String, String> settings, int index, long blockSize, NodeConfigBuilder builder) {
        String kind = settings.get(KIND);
        if (kind != null) {
            new ReplayVram(Kind.valueOf(kind), Integer.parseInt(settings.getOrDefault(BLOCKS, ""))).set(index,
                    blockSize, builder);
        }
        settings.forEach((key, value) -> {
            if (!key.equals(KIND) && !key.equals(BLOCKS)) {
                builder.set(key, value);
            }
        });
    }

    private void set(int index, long blockSize, NodeConfigBuilder builder) {
        if (kind == Kind.DRAM) {
            builder.vram(() -> HostTier.of(Tier.VRAM, slots(), blockSize));
            return;
        }
        CudaDevices devices = CudaDevices.open(CudaConfig.defaults().withPeerProbe(false));
        int device = index % devices.count();
        builder.vram(() -> devices.pool(device, List.of(new SizeClass(blockSize, slots()))))
                .addEngine(context -> devices.engine(context, device));
    }
}
