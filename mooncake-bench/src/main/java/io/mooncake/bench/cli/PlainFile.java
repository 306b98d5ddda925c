package io.mooncake.bench.cli;

import io.mooncake.core.pool.DirectIo;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** A file that is read and written with nothing but a {@link FileChannel}, by so many threads: what a file tier is compared with. */
final class PlainFile implements AutoCloseable {
    private final FileChannel channel;
    private final ExecutorService threads;
    private final int depth;

    /**
     * Opens a file.
     *
     * @param path made when it is not there
     * @param direct whether past the page cache
     * @param depth requests that the device has at a time
     * @throws IOException when it cannot
     */
    PlainFile(Path path, boolean direct, int depth) throws IOException {
        Set<OpenOption> options = new HashSet<>(
                Set.of(StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE));
        if (direct) {
            OpenOption option = DirectIo.option();
            if (option == null) {
                throw new IOException("this platform has no direct I/O: measure with --buffered");
            }
            options.add(option);
        }
        channel = FileChannel.open(path, options);
        this.depth = depth;
        threads = Executors.newFixedThreadPool(depth);
    }

    /** What is moved at a time: between a place in the file and memory. */
    record Unit(long offset, MemorySegment memory) {}

    /** Fills the memory of each unit, in their order as far as several threads keep one. */
    void read(List<Unit> units) {
        forEach(units, unit -> {
            ByteBuffer buffer = unit.memory.asByteBuffer();
            while (buffer.hasRemaining()) {
                if (channel.read(buffer, unit.offset + buffer.position()) < 0) {
                    throw new EOFException("the file ends at " + (unit.offset + buffer.position()));
                }
            }
        });
    }

    /** Writes the memory of each unit, then waits for the device. */
    void write(List<Unit> units) {
        forEach(units, unit -> {
            ByteBuffer buffer = unit.memory.asByteBuffer();
            while (buffer.hasRemaining()) {
                channel.write(buffer, unit.offset + buffer.position());
            }
        });
        try {
            channel.force(false);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private interface Move {
        void of(Unit unit) throws IOException;
    }

    private void forEach(List<Unit> units, Move move) {
        AtomicInteger next = new AtomicInteger();
        Callable<Void> work = () -> {
            for (int i = next.getAndIncrement(); i < units.size(); i = next.getAndIncrement()) {
                move.of(units.get(i));
            }
            return null;
        };
        List<Callable<Void>> all = new ArrayList<>();
        for (int i = 0; i < depth; i++) {
            all.add(work);
        }
        try {
            for (Future<Void> ended : threads.invokeAll(all)) {
                ended.get();
            }
        } catch (ExecutionException e) {
            throw new IllegalStateException("reading or writing a plain file failed", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while reading or writing a plain file", e);
        }
    }

    @Override
    public void close() throws IOException {
        threads.shutdownNow();
        channel.close();
    }
}
