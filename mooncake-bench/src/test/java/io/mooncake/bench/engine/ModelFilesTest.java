package io.mooncake.bench.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.bench.engine.EngineChoice.Kind;
import io.mooncake.bench.engine.EngineChoice.Model;
import io.mooncake.core.base.MooncakeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The files of a model: written once, checked, left or taken away. */
class ModelFilesTest {
    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path models;

    private static EngineChoice choice(Kind kind, long seed) {
        return new EngineChoice(kind, Model.TINY, 16, seed);
    }

    private Path written(Kind kind, long seed) {
        try (ModelFiles files = ModelFiles.of(choice(kind, seed), models)) {
            return Objects.requireNonNull(files.directory());
        }
    }

    private static List<String> names(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    @ParameterizedTest
    @CsvSource({"JLAMA, MANIFEST config.json model.safetensors tokenizer.json", "LLAMACPP, MANIFEST model.gguf"})
    void shouldWriteAModelOnceAndUseItAgain(Kind kind, String names) throws IOException {
        Path first = written(kind, 3);
        assertEquals(List.of(names.split(" ")), names(first));
        Object there = Files.readAttributes(first, BasicFileAttributes.class).fileKey();
        assertEquals(first, written(kind, 3));
        assertEquals(there, Files.readAttributes(first, BasicFileAttributes.class).fileKey());
        assertNotEquals(first, written(kind, 4));
        assertEquals(2, names(models).size(), "no drafts are left");
    }

    @Test
    void shouldHaveTheSizeThatItSays() throws IOException {
        LlamaShape tiny = LlamaShape.of(Model.TINY);
        LlamaShape small = LlamaShape.of(Model.SMALL);
        long bytes = LlamaWeights.tensors(tiny).stream().mapToLong(LlamaWeights.Tensor::bytes).sum();
        assertEquals(bytes / 1e6, Files.size(written(Kind.JLAMA, 3).resolve(ModelFiles.SAFETENSORS)) / 1e6, 0.01);
        assertEquals(2.7, bytes / 1e6, 0.01);
        assertEquals(77, LlamaWeights.tensors(small).stream().mapToLong(LlamaWeights.Tensor::bytes).sum() / 1e6, 1);
    }

    @Test
    void shouldLeaveNothingWhereNoDirectoryWasNamed() {
        Path directory;
        try (ModelFiles files = ModelFiles.of(choice(Kind.JLAMA, 3), null)) {
            directory = Objects.requireNonNull(files.directory());
            assertTrue(Files.exists(directory.resolve("config.json")));
        }
        assertFalse(Files.exists(directory));
        assertFalse(Files.exists(Objects.requireNonNull(directory.getParent())));
    }

    @Test
    void shouldWriteNothingForAnEngineWithoutFiles() throws IOException {
        try (ModelFiles files = ModelFiles.of(choice(Kind.MINI, 3), models)) {
            assertNull(files.directory());
        }
        assertEquals(List.of(), names(models));
    }

    @ParameterizedTest
    @ValueSource(strings = {"config.json", "tokenizer.json", "model.safetensors", "MANIFEST"})
    void shouldRefuseAModelThatHasChanged(String name) throws IOException {
        Path file = written(Kind.JLAMA, 3).resolve(name);
        byte[] bytes = Files.readAllBytes(file);
        bytes[bytes.length / 2] ^= 1;
        Files.write(file, bytes);
        assertRefused();
        Files.delete(file);
        assertRefused();
    }

    private void assertRefused() {
        MooncakeException refused = assertThrows(MooncakeException.class, () -> written(Kind.JLAMA, 3));
        assertEquals(MooncakeException.Kind.CONFIG_ERROR, refused.kind());
        assertTrue(refused.getMessage().contains(models.toString()) && refused.getMessage().contains("delete it"),
                refused::getMessage);
    }

    @Test
    void shouldNotTakeWhatIsSomethingElse() throws IOException {
        Path directory = written(Kind.JLAMA, 3);
        Files.move(directory, directory.resolveSibling("jlama-tiny-4"));
        MooncakeException refused = assertThrows(MooncakeException.class, () -> written(Kind.JLAMA, 4));
        assertTrue(refused.getMessage().contains("seed 3") && refused.getMessage().contains("seed 4"),
                refused::getMessage);
    }

    @Test
    void shouldSayWhereItCannotBeWritten() throws IOException {
        Path file = Files.createFile(models.resolve("file"));
        MooncakeException refused = assertThrows(MooncakeException.class,
                () -> ModelFiles.of(choice(Kind.JLAMA, 3), file));
        assertTrue(refused.getMessage().contains(file.toString()), refused::getMessage);
    }

    @ParameterizedTest
    @EnumSource(names = {"JLAMA", "LLAMACPP"})
    void shouldBeWrittenByManyAtATime(Kind kind) throws Exception {
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            List<Future<Path>> all = IntStream.range(0, 4)
                    .mapToObj(_ -> threads.submit(() -> written(kind, 3)))
                    .toList();
            for (Future<Path> one : all) {
                assertEquals(written(kind, 3), one.get());
            }
        }
        assertEquals(1, names(models).size(), "no drafts are left");
    }
}
