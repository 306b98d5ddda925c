package io.mooncake.bench.cli;

import io.mooncake.core.IdleMode;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.base.Endpoint;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.registry.LocalRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A running {@link TransferServer} and what it handed over.
 *
 * @param process the serving process
 * @param endpoint where its node listens
 * @param blocks its blocks, in the order of the region
 */
public record Served(Child process, Endpoint endpoint, List<BlockRef> blocks) implements AutoCloseable {
    private static final Duration START = Duration.ofMinutes(2);

    /**
     * Starts a serving process and waits until it serves.
     *
     * @param regionBytes what its blocks cover
     * @param blockBytes a block's length
     * @param threading of its node; it has a thread of its own in any case, so INVOKER becomes SHARED
     * @param idle of its node
     * @return the process, to be closed
     */
    public static Served start(long regionBytes, long blockBytes, ThreadingMode threading, IdleMode idle) {
        ThreadingMode mode = threading == ThreadingMode.INVOKER ? ThreadingMode.SHARED : threading;
        Child child = Child.start(List.of(), TransferServer.class,
                List.of(Long.toString(regionBytes), Long.toString(blockBytes), mode.name(), idle.name()));
        List<BlockRef> blocks = new ArrayList<>();
        @Nullable
        Endpoint endpoint = null;
        for (String line = child.readLine(START); line != null; line = child.readLine(START)) {
            String[] words = line.split(" ", -1);
            switch (words[0]) {
                case "block" -> blocks.add(BlockRef.fromBytes(HexFormat.of().parseHex(words[1])));
                case "endpoint" -> endpoint = Endpoint.parse(words[1], 0);
                default -> {
                    if (endpoint != null) {
                        return new Served(child, endpoint, List.copyOf(blocks));
                    }
                }
            }
        }
        child.close();
        throw new IllegalStateException("the serving process ended before it served; see its error above");
    }

    /**
     * A registry in which the server can be reached.
     *
     * @return a new one, for one reading node
     */
    public LocalRegistry registry() {
        return new LocalRegistry().withAddress(TransferServer.NAME, "tcp", endpoint.toString());
    }

    /** Ends the process. */
    @Override
    public void close() {
        process.close();
    }
}
