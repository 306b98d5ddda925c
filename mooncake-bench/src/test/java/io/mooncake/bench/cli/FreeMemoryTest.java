package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FreeMemoryTest {
    private static final long GIB = 1L << 30;

    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path root;

    @BeforeEach
    void machineOf8GibAvailable() throws IOException {
        file("proc/meminfo", "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:    8388608 kB\n");
    }

    @Test
    void shouldTakeMemAvailableWithoutControlGroups() throws IOException {
        assertEquals(new FreeMemory(8 * GIB, "MemAvailable"), FreeMemory.read(root));
    }

    @Test
    void shouldTakeWhatIsLeftUnderALimitOfVersion2() throws IOException {
        file("proc/self/cgroup", "0::/user/bench\n");
        group("sys/fs/cgroup/user/bench", "memory.max", 4 * GIB, "memory.current", 3 * GIB);
        assertEquals(GIB, FreeMemory.read(root).bytes());
        file("sys/fs/cgroup/user/bench/memory.stat", "anon 5\ninactive_file " + GIB + "\n");
        assertEquals(2 * GIB, FreeMemory.read(root).bytes());
        assertTrue(FreeMemory.read(root).source().contains("cgroup"));
    }

    @Test
    void shouldHeedTheLimitOfAGroupAbove() throws IOException {
        file("proc/self/cgroup", "0::/user/bench\n");
        file("sys/fs/cgroup/user/bench/memory.max", "max\n");
        file("sys/fs/cgroup/user/bench/memory.current", "1\n");
        group("sys/fs/cgroup/user", "memory.max", 3 * GIB, "memory.current", GIB);
        assertEquals(2 * GIB, FreeMemory.read(root).bytes());
    }

    @Test
    void shouldTakeWhatIsLeftUnderALimitOfVersion1() throws IOException {
        file("proc/self/cgroup", "12:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/\n");
        // The host's path is not there inside a container; the mount is.
        group("sys/fs/cgroup/memory", "memory.limit_in_bytes", 2 * GIB, "memory.usage_in_bytes", GIB);
        assertEquals(GIB, FreeMemory.read(root).bytes());
    }

    @Test
    void shouldPassOverTheNumberThatMeansUnlimitedInVersion1() throws IOException {
        file("proc/self/cgroup", "4:memory:/\n");
        group("sys/fs/cgroup/memory", "memory.limit_in_bytes", 9223372036854771712L, "memory.usage_in_bytes", GIB);
        assertEquals(new FreeMemory(8 * GIB, "MemAvailable"), FreeMemory.read(root));
    }

    @Test
    void shouldBeZeroWhenMoreIsUsedThanTheLimit() throws IOException {
        file("proc/self/cgroup", "0::/\n");
        group("sys/fs/cgroup", "memory.max", GIB, "memory.current", 2 * GIB);
        assertEquals(0, FreeMemory.read(root).bytes());
    }

    @Test
    void shouldAllowExactly60PercentAndRefuseOneBlockMore() {
        // 4 nodes x (97 + 6 spare + 1 copy buffer) x (64 KiB + 512 B) = 27,475,968 bytes
        ReplayOptions options = new ReplayOptions(4, 97, 65_536, "lru", 0, 1, 0);
        long needed = 4L * (97 + 6 + 1) * (65_536 + 512);
        long free = (needed * 10 + 5) / 6;
        options.checkMemory(new FreeMemory(free, "MemAvailable"));
        BadInputException e = assertThrows(BadInputException.class,
                () -> options.checkMemory(new FreeMemory(free - 10, "MemAvailable")));
        assertEquals(
                "4 nodes x (97 cached + 6 spare + 1 copy buffer) x (64KiB + 512B bookkeeping) = 26.20 MiB, more than 60 % of the"
                        + " 43.67 MiB free (MemAvailable) = 26.20 MiB: lower --capacity, --block-size or --nodes",
                e.getMessage());
    }

    @Test
    void shouldRefuseWhatPasses2To63() {
        ReplayOptions options = new ReplayOptions(64, 1 << 30, 1L << 62, "lru", 0, 1, 0);
        assertThrows(BadInputException.class,
                () -> options.checkMemory(new FreeMemory(Long.MAX_VALUE, "MemAvailable")));
    }

    private void group(String folder, String limitFile, long limit, String usageFile, long usage) throws IOException {
        file(folder + "/" + limitFile, limit + "\n");
        file(folder + "/" + usageFile, usage + "\n");
    }

    private void file(String path, String text) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }
}
