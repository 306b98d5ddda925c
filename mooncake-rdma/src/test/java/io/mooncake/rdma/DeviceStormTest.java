package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.rdma.rig.RdmaDevices;
import io.mooncake.rdma.verbs.NativeProvider;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Over a device of this machine: storms of cancels, and keys that are taken back while they are read with. With {@code -Dmooncake.full=true} as
 * often as it takes to believe it.
 */
@Tag("rdma")
@Timeout(3600)
@SuppressWarnings("NullAway.Init") // Each test starts its rig first.
final class DeviceStormTest {
    private static final boolean FULL = Boolean.getBoolean("mooncake.full");
    private static final int CANCELS = FULL ? 20_000 : 300;
    private static final int DEREGISTRATIONS = FULL ? 200 : 6;
    private static final int[] SIZES = {64, 4096, 65_536, 1 << 20, 5_000_000, 24 << 20};
    private static final long MOST = 24 << 20;
    private static final int MOST_CANCELED = 1 << 18;
    private static final int WINDOW = 4;
    private static final int MOST_CYCLES = 3;
    private static final byte FILL = EngineRig.FILL;
    private static final byte REFILL = 0x77;
    private static final byte AFTERWARDS = 0x11;
    private static final Path BACKLOG = Path.of("/proc/sys/net/core/netdev_max_backlog");

    private final Random random = new Random(11);
    private final CountingProvider provider = new CountingProvider(new NativeProvider());
    private EngineRig rig;
    private EngineRig.Side owner;
    private EngineRig.Side reader;
    private int unreachable;

    private void start(RdmaConfig.Window window) {
        RdmaConfig config = RdmaConfig.defaults().withRegistrar(RdmaConfig.Registrar.POLLER).withWindow(window);
        rig = new DeviceRig(any -> config, provider.asProvider());
        owner = rig.side("owner");
        reader = rig.side("reader");
    }

    @AfterEach
    void close() {
        if (rig != null) {
            rig.close();
        }
    }

    /** A pull in flight, and the memory of the one before, which is another owner's now. */
    private final class Seat {
        private final MemorySegment one = rig.filled(MOST_CANCELED, FILL);
        private final MemorySegment other = rig.filled(MOST_CANCELED, FILL);
        private final Region[] regions = {reader.own(one), reader.own(other)};
        private final MemorySegment[] memories = {one, other};
        private int next;
        private Reading reading = new Reading();
        private boolean refilled;

        void submit(Region source) {
            int length = MOST_CANCELED / 2 + random.nextInt(MOST_CANCELED / 2);
            MemorySegment into = memories[next];
            into.fill(FILL);
            reading = new Reading();
            // Whoever gives memory up may use it at once: that is what the end says.
            reading.onEnd = () -> into.fill(REFILL);
            reading.read.from(owner.peer(), source.id(), 0, length)
                    .into(regions[next], 0)
                    .by(rig.nowNs() + 1000 * EngineRig.SECOND_NS);
            refilled = false;
            reader.submit(reading);
        }

        void cancel() {
            reading.givenUp = true;
            reader.engine.abort(reading.read);
            rig.until(reading::ended);
            assertEquals(1, reading.ends);
            refilled = true;
            next = 1 - next;
            if (reading.status == ReadStatus.UNREACHABLE) {
                // Where this machine stood still for longer than the card's retries. What may land then is the same question.
                unreachable++;
                rig.advance(EngineRig.SECOND_NS);
                return;
            }
            assertTrue(reading.status == ReadStatus.CANCELED || reading.status == ReadStatus.OK,
                    () -> "ended " + reading.status);
        }

        void check(MemorySegment refill) {
            MemorySegment before = memories[1 - next];
            if (refilled) {
                assertEquals(-1, before.mismatch(refill), "a byte landed after the end of a read");
            }
        }
    }

    @Test
    void shouldLetNothingLandAfterAnyOfManyCancels() {
        RdmaDevices.assume();
        // A read is posted in several goes, since Soft-RoCE does most of what is posted at once; and the queue is just as deep as requests may
        // be outstanding, so that its occupancy means something.
        start(new RdmaConfig.Window(4, 16 << 10, 16 << 10, 16, 63));
        Region source = owner.register(rig.pattern(MOST_CANCELED), Access.READABLE);
        MemorySegment refill = rig.filled(MOST_CANCELED, REFILL);
        List<Seat> seats = new ArrayList<>();
        for (int i = 0; i < WINDOW; i++) {
            seats.add(new Seat());
            seats.getLast().submit(source);
        }
        int canceled = 0;
        for (int i = 0; i < CANCELS; i++) {
            Seat seat = seats.get(i % WINDOW);
            for (int cycles = random.nextInt(MOST_CYCLES); cycles > 0 && !seat.reading.ended(); cycles--) {
                rig.cycle();
            }
            seat.cancel();
            canceled += seat.reading.status == ReadStatus.CANCELED ? 1 : 0;
            // The memory of the one before was another owner's all that time.
            seat.submit(source);
            seat.check(refill);
        }
        seats.forEach(Seat::cancel);
        seats.forEach(seat -> seat.check(refill));
        int percent = provider.mostOccupiedPercent();
        System.out.printf(
                "[storm] %d of %d reads canceled before their end, %d unreachable, %d lanes lost, queue at most %d %% full%n",
                canceled, CANCELS, unreachable, reader.count(Counter.LANES_LOST), percent);
        assertTrue(unreachable <= CANCELS / 20, unreachable + " ended unreachable");
        assertTrue(canceled > CANCELS / 20, canceled + " were canceled");
        assertTrue(percent < 30, () -> percent + " % of the completion queue were taken");
        MemorySegment to = rig.filled(MOST_CANCELED, FILL);
        Reading last = reader.read(owner, source, 0, MOST_CANCELED, reader.own(to));
        rig.until(last::ended);
        assertEquals(ReadStatus.OK, last.status);
    }

    /**
     * The owner closes a region while it is read, and writes other things there as soon as it may: a read that succeeds has brought what was
     * there before, whole. A short receive queue of the kernel makes READs report success for bytes that never came.
     */
    @ParameterizedTest
    @ValueSource(ints = {20_000, 1_000})
    void shouldNeverSucceedWithWrongBytesWhenAKeyIsTakenBack(int backlog) throws IOException {
        RdmaDevices.assumeSoftRoce();
        start(RdmaConfig.defaults().window());
        String before = setting(BACKLOG);
        Files.writeString(BACKLOG, Integer.toString(backlog));
        try {
            MemorySegment pattern = rig.pattern(MOST);
            MemorySegment from = rig.filled(MOST, FILL);
            MemorySegment to = rig.filled(MOST, FILL);
            Region into = reader.own(to);
            int[] ends = new int[ReadStatus.values().length];
            for (int size : SIZES) {
                MemorySegment right = pattern.asSlice(0, size);
                long most = cyclesOf(right, into);
                for (int i = 0; i < DEREGISTRATIONS; i++) {
                    ends[takeBack(random.nextLong(most), right, from.asSlice(0, size), to.asSlice(0, size), into)
                            .ordinal()]++;
                }
            }
            System.out.printf("[storm] backlog %d: %d reads over keys taken back: %d OK, %d REFUSED, %d UNREACHABLE%n",
                    backlog, DEREGISTRATIONS * SIZES.length, ends[ReadStatus.OK.ordinal()],
                    ends[ReadStatus.REFUSED.ordinal()], ends[ReadStatus.UNREACHABLE.ordinal()]);
            assertTrue(ends[ReadStatus.REFUSED.ordinal()] > 0, "no key was taken back in time");
            Region again = owner.register(pattern, Access.READABLE);
            to.fill(FILL);
            Reading reading = reader.read(owner, again, 0, MOST, into);
            rig.until(reading::ended);
            assertEquals(ReadStatus.OK, reading.status, () -> reading.cause().getMessage());
            assertEquals(-1, to.mismatch(pattern));
        } finally {
            Files.writeString(BACKLOG, before);
            assertEquals(before, setting(BACKLOG), "other tests find the queue as it was");
        }
    }

    /**
     * A kernel setting. It is read at one go: to who asks for the first byte alone, as {@code Files.readString} does, the kernel gives nothing
     * after it.
     */
    private static String setting(Path file) throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            return new String(in.readNBytes(64), StandardCharsets.US_ASCII).strip();
        }
    }

    /** How many duty cycles a read takes that nobody disturbs: while it runs, in whatever time, there are so many moments to disturb it. */
    private long cyclesOf(MemorySegment from, Region into) {
        Region source = owner.register(from, Access.READABLE);
        Reading first = reader.read(owner, source, 0, 8, into);
        rig.until(first::ended);
        Reading reading = reader.read(owner, source, 0, from.byteSize(), into);
        long cycles = 1;
        for (; !reading.ended(); cycles++) {
            rig.cycle();
        }
        assertEquals(ReadStatus.OK, reading.status, () -> reading.cause().getMessage());
        source.close();
        return cycles;
    }

    private ReadStatus takeBack(long cycles, MemorySegment pattern, MemorySegment from, MemorySegment to,
            Region into) {
        from.copyFrom(pattern);
        to.fill(FILL);
        Region source = owner.register(from, Access.READABLE);
        // The way is there, and the keys are known.
        Reading first = reader.read(owner, source, 0, 8, into);
        rig.until(first::ended);
        assertEquals(ReadStatus.OK, first.status, () -> first.cause().getMessage());
        Reading reading = reader.read(owner, source, 0, pattern.byteSize(), into);
        for (long i = 0; i < cycles && !reading.ended(); i++) {
            rig.cycle();
        }
        source.close();
        from.fill(AFTERWARDS);
        rig.until(reading::ended);
        ReadStatus status = Objects.requireNonNull(reading.status);
        switch (status) {
            case OK ->
                assertEquals(-1, to.mismatch(pattern), () -> "success with wrong bytes, of " + pattern.byteSize());
            case REFUSED -> assertEquals(Kind.UNAUTHORIZED, reading.cause().kind());
            default -> assertEquals(ReadStatus.UNREACHABLE, status);
        }
        return status;
    }
}
