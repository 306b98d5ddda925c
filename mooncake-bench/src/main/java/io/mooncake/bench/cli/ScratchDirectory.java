package io.mooncake.bench.cli;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Where a command's file tiers are.
 *
 * @param path an empty directory at first
 * @param own whether it is deleted when it is closed
 */
record ScratchDirectory(Path path, boolean own) implements AutoCloseable {
    /**
     * What was asked for, or a new one.
     *
     * @param asked what {@code --directory} names; null = none
     * @param prefix of a new one's name
     * @throws BadInputException when it is none, or not empty
     * @throws IOException when none can be made
     */
    static ScratchDirectory of(@Nullable Path asked, String prefix) throws IOException {
        if (asked == null) {
            return new ScratchDirectory(Files.createTempDirectory(prefix), true);
        }
        if (!Files.isDirectory(asked) || !Files.isWritable(asked)) {
            throw new BadInputException(
                    "--directory = " + asked + " is no directory that can be written: make it first");
        }
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(asked)) {
            if (entries.iterator().hasNext()) {
                throw new BadInputException("--directory = " + asked + " is not empty: name an empty one");
            }
        }
        return new ScratchDirectory(asked, false);
    }

    @Override
    public void close() throws IOException {
        if (own) {
            delete(path);
        }
    }

    private static void delete(Path directory) throws IOException {
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
            for (Path entry : entries) {
                if (Files.isDirectory(entry)) {
                    delete(entry);
                } else {
                    Files.delete(entry);
                }
            }
        }
        Files.delete(directory);
    }
}
