package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.Tier;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Route;
import io.mooncake.core.transfer.Route.Health;
import io.mooncake.core.transfer.Route.Locality;
import io.mooncake.core.transfer.TransferEngine;
import java.lang.foreign.Arena;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The table of path choice. */
class PathChoiceTest {
    private static final long WORTHWHILE = 4096;

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            NODE    | true  | READY   | 1       | 1
            NODE    | true  | READY   | 4096    | 0
            HOST    | true  | READY   | 4096    | 10
            NETWORK | true  | READY   | 4096    | 20
            NETWORK | true  | READY   | 4095    | 21
            NODE    | true  | FAILING | 4096    | 100
            HOST    | true  | FAILING | 4096    | 110
            NETWORK | true  | FAILING | 0       | 121
            NODE    | false | READY   | 4096    | 2147483647
            HOST    | false | FAILING | 4096    | 2147483647
            HOST    | true  | UNKNOWN | 4096    | 2147483647
            NETWORK | true  | NONE    | 4096    | 2147483647
            NETWORK | false | NONE    | 0       | 2147483647
            """)
    void rank(Locality locality, boolean registered, Health health, long bytes, int rank) {
        assertEquals(rank, PathChoice.rank(bytes, new Route(locality, registered, health, WORTHWHILE, "")));
    }

    /** The whole table at once: whatever fails at the moment comes after whatever does not; then the shorter way; then the size. */
    @Test
    void theOrderIsHealthThenLocalityThenSize() {
        List<Route> usable = new ArrayList<>();
        for (Locality locality : Locality.values()) {
            for (Health health : Health.values()) {
                for (boolean registered : new boolean[]{true, false}) {
                    for (long worthwhile : new long[]{0, WORTHWHILE}) {
                        Route route = new Route(locality, registered, health, worthwhile, "");
                        boolean can = registered && health.ordinal() <= Health.FAILING.ordinal();
                        assertEquals(can, PathChoice.rank(100, route) != PathChoice.NEVER, route.toString());
                        if (can) {
                            usable.add(route);
                        }
                    }
                }
            }
        }
        List<Route> byRank = new ArrayList<>(usable);
        byRank.sort(Comparator.comparingInt(route -> PathChoice.rank(100, route)));
        usable.sort(Comparator.comparing(Route::health)
                .thenComparing(Route::locality)
                .thenComparingLong(Route::worthwhileBytes));
        assertEquals(usable, byRank);
        assertTrue(usable.size() == 12, "3 localities, 2 healths, 2 sizes");
    }

    /** Straight where a card writes there, or a device reads there; by host memory wherever not. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            DRAM | false | none    | true  | false
            DRAM | false | host    | true  | false
            DRAM | false | devices | true  | true
            DRAM | true  | host    | true  | false
            DRAM | false | devices | false | false
            VRAM | false | devices | true  | false
            VRAM | true  | host    | true  | true
            SLOW | false | devices | true  | false
            """)
    void straightOntoDevices(Tier from, boolean readsThere, String best, boolean onDevice, boolean straight) {
        Memory into = onDevice ? new DeviceMemory(0, 4096, 10) : Memory.of(Arena.ofAuto().allocate(10));
        assertEquals(straight, PathChoice.isStraight(from, readsThere ? engine("devices") : null,
                best.equals("none") ? null : engine(best), new Peer(new NodeId("a", 1), Map.of()), 1, into));
    }

    private static TransferEngine engine(String reaches) {
        return (TransferEngine) Proxy.newProxyInstance(TransferEngine.class.getClassLoader(), new Class<?>[]{
                TransferEngine.class},
                (proxy, method, arguments) -> reaches.equals("devices") || arguments[2] instanceof HostMemory);
    }
}
