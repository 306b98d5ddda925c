package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.NodeId;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Warnings that strangers can cause: one a second at most, and how many were left out. The poller's. */
final class LimitedLog {
    private static final Logger LOG = LoggerFactory.getLogger(TcpTransferEngine.class);
    private static final long INTERVAL_NS = 1_000_000_000;

    private final NodeId node;
    private final LongSupplier nanoClock;
    private final BiConsumer<String, @Nullable Exception> lines;
    private boolean any;
    private long lastNs;
    private long left;

    LimitedLog(NodeId node, LongSupplier nanoClock) {
        this(node, nanoClock, (line, why) -> LOG.warn("{}", line, why));
    }

    LimitedLog(NodeId node, LongSupplier nanoClock, BiConsumer<String, @Nullable Exception> lines) {
        this.node = node;
        this.nanoClock = nanoClock;
        this.lines = lines;
    }

    void warn(String text, @Nullable Exception why) {
        long now = nanoClock.getAsLong();
        if (any && now - lastNs < INTERVAL_NS) {
            left++;
            return;
        }
        String more = left == 0 ? "" : " (" + left + " more warnings since the last one)";
        any = true;
        lastNs = now;
        left = 0;
        lines.accept("node " + node + ": " + text + more, why);
    }

    void debug(Object what, String text, @Nullable Exception why) {
        LOG.debug("node {}: {} {}", node, what, text, why);
    }
}
