package io.mooncake.bench.cli;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.NodeConfigBuilder;
import io.mooncake.core.NodeEvent;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Main class of one process of {@code cluster}: a node that writes its own blocks again and again, and reads everybody else's all the while
 * ({@link PeerReader}, one for each), until its input ends. It says on standard output, a line each, with the time as
 * {@link System#nanoTime} says it, which on Linux is one clock for all processes of the host:
 *
 * <pre>
 *   ready                    it serves
 *   event NS KIND PEER why   of the node: SUSPECT, DEAD, JOINED
 *   up NS PEER               a read from that peer succeeded, and the one before did not, or there was none
 *   lost NS PEER outcome     a read from that peer failed, and the one before did not
 *   late NS PEER what        a transfer was not over a second after its deadline
 *   wrong NS PEER what       a byte, or a version, was not what it must be
 *   did READS BYTES WRITES   since it said so last
 * </pre>
 *
 * <p>It is told {@code pause N}: how many microseconds each reader waits after a read.
 */
final class ClusterPeer {
    /** Of each process. */
    static final int BLOCKS = 32;
    static final long BLOCK_BYTES = 64 << 10;

    private static final long REWRITE_NS = 20_000_000;
    private static final long TELL_NS = 1_000_000_000;
    private static final int SLOTS = 4 * BLOCKS;

    private final int self;
    private final Node node;
    private final PrintStream out;
    private final AtomicLong reads = new AtomicLong();
    private final List<PeerReader> readers = new ArrayList<>();
    private volatile boolean closing;

    private ClusterPeer(int self, int processes, Node node) {
        this.self = self;
        this.node = node;
        out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (int peer = 0; peer < processes; peer++) {
            if (peer != self) {
                readers.add(new PeerReader(this, node, peer));
            }
        }
    }

    /** The name of a process's node. */
    static String name(int process) {
        return "peer-" + process;
    }

    /** A block of a process. */
    static BlockId id(int process, int block) {
        return BlockId.of(name(process) + "/" + block);
    }

    /** What a block's content is made of beside the writing: the life that wrote it, so that an earlier life's bytes are wrong. */
    static long seed(int block, long incarnation) {
        return incarnation * BLOCKS + block;
    }

    /**
     * Runs.
     *
     * @param args its number, the number of processes, then its node's settings, KEY=VALUE
     * @throws IOException when standard input cannot be read
     * @throws InterruptedException never, since nobody interrupts
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        int self = Integer.parseInt(args[0]);
        NodeConfigBuilder builder = NodeConfig.builder(name(self))
                .blockSize(BLOCK_BYTES)
                .poolSize(SLOTS * BLOCK_BYTES);
        NodeSettings.byKey(List.of(args).subList(2, args.length)).forEach(builder::set);
        try (Node node = Node.start(builder.build())) {
            new ClusterPeer(self, Integer.parseInt(args[1]), node).run();
        } catch (MooncakeException e) {
            System.err.println(name(self) + ": " + e.getMessage());
            System.exit(Main.FAILED);
        }
    }

    private void run() throws IOException, InterruptedException {
        node.nodeEvents(this::tell);
        for (int block = 0; block < BLOCKS; block++) {
            write(block, 0);
        }
        say("ready");
        Thread writer = Thread.ofPlatform().daemon().name("writer").start(this::writeAll);
        List<Thread> threads = new ArrayList<>(List.of(writer));
        for (PeerReader reader : readers) {
            threads.add(Thread.ofPlatform().daemon().name("reader-" + reader.peer()).start(reader));
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null;) {
            String[] words = line.split(" ", -1);
            long pauseNs = Long.parseLong(words[1]) * 1_000;
            readers.forEach(reader -> reader.pause(pauseNs));
        }
        closing = true;
        for (Thread thread : threads) {
            thread.join();
        }
    }

    boolean isClosing() {
        return closing;
    }

    /** Any thread: a line. */
    void say(String line) {
        out.println(line);
    }

    /** Any thread: a block was read, and right. */
    void read() {
        reads.incrementAndGet();
    }

    private void tell(NodeEvent event) {
        String name = event.node().name();
        say("event " + System.nanoTime() + " " + event.kind() + " " + name.substring(name.lastIndexOf('-') + 1) + " "
                + event.reason().replace('\n', ' '));
    }

    private void write(int block, long writing) {
        try (BlockWriter writer = node.store().allocate(id(self, block), BLOCK_BYTES)) {
            Content.fill(writer.segment(), seed(block, node.id().incarnation()), writing);
            BlockRef written = writer.commit();
            if (writer.result() != BlockWriter.Result.WRITTEN) {
                say("wrong " + System.nanoTime() + " " + self + " a commit of " + written + " ended as "
                        + writer.result());
            }
        }
    }

    /** Writes one block after the other anew, and looks at another one where it lies: work that no fault elsewhere may disturb. */
    private void writeAll() {
        Random random = new Random(self);
        BlockView view = node.store().newView();
        long toldNs = System.nanoTime();
        long writes = 0;
        for (long writing = 1; !closing; writing++) {
            write((int) (writing % BLOCKS), writing);
            writes++;
            look(random.nextInt(BLOCKS), view);
            LockSupport.parkNanos(REWRITE_NS);
            if (System.nanoTime() - toldNs > TELL_NS) {
                toldNs = System.nanoTime();
                long done = reads.getAndSet(0);
                say("did " + done + " " + done * BLOCK_BYTES + " " + writes);
                writes = 0;
            }
        }
    }

    private void look(int block, BlockView view) {
        if (!node.store().acquire(id(self, block), view)) {
            say("wrong " + System.nanoTime() + " " + self + " its own block " + block + " is not there");
            return;
        }
        try (view) {
            long wrong = Content.firstWrongByte(view.segment(), seed(block, node.id().incarnation()),
                    Content.writing(view.segment()));
            if (wrong >= 0) {
                say("wrong " + System.nanoTime() + " " + self + " byte " + wrong + " of its own block " + block);
            }
        }
    }
}
