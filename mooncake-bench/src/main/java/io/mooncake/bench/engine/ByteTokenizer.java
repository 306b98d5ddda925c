package io.mooncake.bench.engine;

import com.github.tjake.jlama.safetensors.SafeTensorSupport;
import com.github.tjake.jlama.safetensors.prompt.PromptSupport;
import com.github.tjake.jlama.safetensors.tokenizer.Tokenizer;
import com.github.tjake.jlama.safetensors.tokenizer.TokenizerModel;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Jlama's vocabulary of a model whose tokens are the 256 bytes, so that any text is a prompt. Jlama reads the file; its own tokenizers read the same
 * one, but load the library of chat templates for that, which is left out here. Immutable; any thread.
 */
final class ByteTokenizer implements Tokenizer {
    static final String FILE = "tokenizer.json";
    private static final int BYTES = 256;

    private final TokenizerModel model;

    /**
     * Reads one.
     *
     * @param directory that has the file
     */
    ByteTokenizer(Path directory) throws IOException {
        model = SafeTensorSupport.loadTokenizer(directory);
    }

    /** The file: a vocabulary of bytes, which every character falls back to. */
    static String json() {
        String vocabulary = IntStream.range(0, BYTES)
                .mapToObj(token -> "\"" + name(token) + "\": " + token)
                .collect(Collectors.joining(", "));
        return """
                {
                  "version": "1.0",
                  "added_tokens": [],
                  "normalizer": null,
                  "pre_tokenizer": null,
                  "decoder": {"type": "ByteFallback"},
                  "model": {
                    "type": "BPE",
                    "unk_token": null,
                    "fuse_unk": false,
                    "byte_fallback": true,
                    "vocab": {%s},
                    "merges": []
                  }
                }
                """.formatted(vocabulary);
    }

    private static String name(int token) {
        return String.format("<0x%02X>", token);
    }

    @Override
    public List<String> tokenize(String sentence) {
        return Arrays.stream(encode(sentence)).mapToObj(token -> model.vocabLookup.inverse().get(token)).toList();
    }

    @Override
    public long[] encode(String sentence) {
        byte[] utf8 = sentence.getBytes(StandardCharsets.UTF_8);
        return IntStream.range(0, utf8.length)
                .mapToLong(i -> model.vocabLookup.get(name(Byte.toUnsignedInt(utf8[i]))))
                .toArray();
    }

    @Override
    public String decode(long id) {
        return decode(new long[]{id});
    }

    @Override
    public String decode(long[] ids) {
        byte[] utf8 = new byte[ids.length];
        for (int i = 0; i < ids.length; i++) {
            String name = model.vocabLookup.inverse().get(ids[i]);
            if (name == null) {
                throw new IllegalArgumentException("token " + ids[i] + " must be 0 to " + (BYTES - 1));
            }
            utf8[i] = (byte) Integer.parseInt(name.substring(3, 5), 16);
        }
        return new String(utf8, StandardCharsets.UTF_8);
    }

    @Override
    public Optional<PromptSupport> promptSupport() {
        return Optional.empty();
    }

    @Override
    public TokenizerModel getModel() {
        return model;
    }
}
