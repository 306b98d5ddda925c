package io.mooncake.core.registry.jgroups;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jgroups.logging.CustomLogFactory;
import org.jgroups.logging.Log;
import org.jgroups.logging.Slf4jLogImpl;

/**
 * JGroups' logging through SLF4J, whatever else is on the path; warnings and errors at a bounded rate, since a stranger who knocks, or a
 * peer that is gone, makes one a message.
 */
final class Slf4jLogs implements CustomLogFactory {
    private static final int LINES_A_MINUTE = 10;

    private final AtomicLong minute = new AtomicLong(Long.MIN_VALUE);
    private final AtomicLong lines = new AtomicLong();

    @Override
    public Log getLog(Class<?> type) {
        return getLog(type.getName());
    }

    @Override
    public Log getLog(String category) {
        return new Limited(category);
    }

    private boolean mayLog() {
        long now = System.nanoTime() / TimeUnit.MINUTES.toNanos(1);
        long then = minute.get();
        if (now != then && minute.compareAndSet(then, now)) {
            lines.set(0);
        }
        return lines.incrementAndGet() <= LINES_A_MINUTE;
    }

    private final class Limited extends Slf4jLogImpl {
        Limited(String category) {
            super(category);
        }

        @Override
        public void error(String message) {
            if (mayLog()) {
                super.error(message);
            }
        }

        @Override
        public void error(String format, Object... arguments) {
            if (mayLog()) {
                super.error(format, arguments);
            }
        }

        @Override
        public void error(String message, Throwable cause) {
            if (mayLog()) {
                super.error(message, cause);
            }
        }

        @Override
        public void warn(String message) {
            if (mayLog()) {
                super.warn(message);
            }
        }

        @Override
        public void warn(String format, Object... arguments) {
            if (mayLog()) {
                super.warn(format, arguments);
            }
        }

        @Override
        public void warn(String message, Throwable cause) {
            if (mayLog()) {
                super.warn(message, cause);
            }
        }
    }
}
