package io.mooncake.core.sim;

import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.pool.DramPool;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.pool.SizeClass;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Host memory in the place of a device's, or of a file: a pool of another tier that the local engine copies from and to. */
public final class HostTier {
    private HostTier() {}

    /**
     * Makes a pool.
     *
     * @param tier that it is of
     * @param slots how many
     * @param blockBytes room of each
     * @return of device 0
     */
    public static BlockPool of(Tier tier, int slots, long blockBytes) {
        return of(tier, new DramPool(tier + "0", List.of(new SizeClass(blockBytes, slots)),
                MemorySource.anonymous()));
    }

    /**
     * Makes a pool whose blocks take as many bytes as they need.
     *
     * @param tier that it is of
     * @param slots blocks at most
     * @param bytes of all of it
     * @param blockBytes of the longest
     * @return of device 0
     */
    public static BlockPool ofRanges(Tier tier, int slots, long bytes, long blockBytes) {
        return of(tier, DramPool.ofRanges(tier + "0", new SizeClass(blockBytes, slots), bytes,
                MemorySource.anonymous(), false));
    }

    private static BlockPool of(Tier tier, DramPool memory) {
        return (BlockPool) Proxy.newProxyInstance(BlockPool.class.getClassLoader(), new Class<?>[]{BlockPool.class},
                (_, method, arguments) -> switch (method.getName()) {
                    case "tier" -> tier;
                    case "device" -> 0;
                    default -> invoke(memory, method, arguments);
                });
    }

    private static @Nullable Object invoke(DramPool memory, Method method, Object @Nullable [] arguments)
            throws Throwable {
        try {
            return method.invoke(memory, arguments);
        } catch (InvocationTargetException e) {
            throw Objects.requireNonNull(e.getCause());
        }
    }
}
