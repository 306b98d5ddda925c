package io.mooncake.bench.cli;

import io.mooncake.core.Node;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.registry.LocalRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A running {@link TransferServer} and what it handed over.
 *
 * @param process the serving process
 * @param addresses where its node is reached, by engine
 * @param blocks its blocks, in the order of the region
 */
public record Served(Child process, Map<String, String> addresses, List<BlockRef> blocks) implements AutoCloseable {
    private static final Duration START = Duration.ofMinutes(2);
    private static final String MESSAGES = "tcp";

    /**
     * Starts a serving process whose blocks cover a region, and waits until it serves.
     *
     * @param regionBytes what its blocks cover
     * @param blockBytes a block's length; the last one may be shorter
     * @param settings of its node, which has a thread of its own in any case
     * @return the process, to be closed
     */
    public static Served start(long regionBytes, long blockBytes, NodeSettings settings) {
        String whole = regionBytes / blockBytes + "x" + blockBytes;
        long rest = regionBytes % blockBytes;
        return start(rest == 0 ? whole : whole + "," + rest, settings);
    }

    /**
     * Starts a serving process with blocks of given lengths, and waits until it serves.
     *
     * @param lengths one a block
     * @param settings of its node, which has a thread of its own in any case
     * @return the process, to be closed
     */
    static Served start(List<Long> lengths, NodeSettings settings) {
        return start(String.join(",", lengths.stream().map(String::valueOf).toList()), settings);
    }

    private static Served start(String lengths, NodeSettings settings) {
        List<String> args = new ArrayList<>(List.of(lengths));
        args.addAll(settings.serving().toArgs());
        Child child = Child.start(settings.jvmFlags(), TransferServer.class, args);
        List<BlockRef> blocks = new ArrayList<>();
        Map<String, String> addresses = new LinkedHashMap<>();
        for (String line = child.readLine(START); line != null; line = child.readLine(START)) {
            String[] words = line.split(" ", -1);
            switch (words[0]) {
                case "block" -> blocks.add(BlockRef.fromBytes(HexFormat.of().parseHex(words[1])));
                case "address" -> addresses.put(words[1], words[2]);
                default -> {
                    return new Served(child, addresses, List.copyOf(blocks));
                }
            }
        }
        child.close();
        String ended = "the serving process ended before it served: see its error above";
        if (child.waitFor(START) == Main.BAD_INPUT) {
            throw new BadInputException(ended + " and correct --set");
        }
        throw new MooncakeException(Kind.ILLEGAL_STATE, ended);
    }

    /**
     * A registry in which the server can be reached, by one engine.
     *
     * @param engine the engine's name
     * @return a new one, for one reading node
     */
    public LocalRegistry registry(String engine) {
        LocalRegistry registry = new LocalRegistry().withAddress(TransferServer.NAME, engine,
                address(addresses, engine));
        return engine.equals(NodeSettings.RDMA)
                // Its lanes are connected by messages.
                ? registry.withAddress(TransferServer.NAME, MESSAGES, address(addresses, MESSAGES))
                : registry;
    }

    /** Tells the server where a node is reached, for what it has to say to it. */
    void meet(Node node) {
        node.addresses()
                .forEach((engine, address) -> process
                        .writeLine("peer " + node.id().name() + " " + engine + " " + address));
    }

    /** Where a node is reached by an engine that was asked for. */
    static String address(Map<String, String> addresses, String engine) {
        String address = addresses.get(engine);
        if (address == null) {
            throw new BadInputException("--engine = " + engine + ": the serving node is reached by "
                    + String.join(", ", addresses.keySet()) + "; name one of these");
        }
        return address;
    }

    /**
     * Ends the process in good order.
     *
     * @return its exit code: 0 when nothing of its node was pinned any more
     */
    int end() {
        process.close();
        return process.waitFor(START);
    }

    /** Ends the process. */
    @Override
    public void close() {
        process.close();
    }
}
