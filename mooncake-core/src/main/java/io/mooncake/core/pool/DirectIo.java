package io.mooncake.core.pool;

import java.nio.file.OpenOption;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** How files are opened past the page cache. Any thread. */
public final class DirectIo {
    private static final Logger LOG = LoggerFactory.getLogger(DirectIo.class);
    private static final @Nullable OpenOption OPTION = find();

    private DirectIo() {}

    /**
     * The option for {@code FileChannel.open}.
     *
     * @return null where this platform has none; a file system may refuse it all the same
     */
    public static @Nullable OpenOption option() {
        return OPTION;
    }

    /** By its name, since compilers warn of its class: other platforms may not have it. */
    private static @Nullable OpenOption find() {
        try {
            for (Object option : Class.forName("com.sun.nio.file.ExtendedOpenOption").getEnumConstants()) {
                if (option instanceof OpenOption direct && option.toString().equals("DIRECT")) {
                    return direct;
                }
            }
        } catch (ClassNotFoundException e) {
            LOG.debug("this platform has no direct I/O", e);
        }
        return null;
    }
}
