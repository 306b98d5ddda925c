package io.mooncake.core.pool;

import io.mooncake.testing.BlockPoolContract;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;

final class FilePoolTest extends BlockPoolContract {
    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path folder;

    @Override
    protected BlockPool open() {
        try {
            return new FilePool("file", Files.createTempDirectory(folder, "pool"),
                    List.of(new SizeClass(4096, 2), new SizeClass(100, 4)), true);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
