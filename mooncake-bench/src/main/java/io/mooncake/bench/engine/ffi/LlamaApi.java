package io.mooncake.bench.engine.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.mooncake.bench.engine.ffi.Parameters.Field;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/**
 * The functions of {@code llama.h}, and its structs. Any thread, as the library allows it: a context's calls one after the other.
 */
@SuppressWarnings("restricted")
final class LlamaApi {
    static final Parameters MODEL = new Parameters("llama_model_params", address("devices"), number("n_gpu_layers", 0),
            number("split_mode", 1), number("main_gpu", 0), address("tensor_split"), address("progress_callback"),
            address("progress_callback_user_data"), address("kv_overrides"), flag("vocab_only", false),
            flag("use_mmap", true), flag("use_mlock", false), flag("check_tensors", false));

    static final Parameters CONTEXT = new Parameters("llama_context_params", number("n_ctx", 512),
            number("n_batch", 2048), number("n_ubatch", 512), number("n_seq_max", 1), number("n_threads", 4),
            number("n_threads_batch", 4), number("rope_scaling_type", -1), number("pooling_type", -1),
            number("attention_type", -1), real("rope_freq_base", 0), real("rope_freq_scale", 0),
            real("yarn_ext_factor", -1), real("yarn_attn_factor", 1), real("yarn_beta_fast", 32),
            real("yarn_beta_slow", 1), number("yarn_orig_ctx", 0), real("defrag_thold", -1), address("cb_eval"),
            address("cb_eval_user_data"), number("type_k", 1), number("type_v", 1), flag("logits_all", false),
            flag("embeddings", false), flag("offload_kqv", true), flag("flash_attn", false), flag("no_perf", true),
            address("abort_callback"), address("abort_callback_data"));

    /** Tokens to be computed: how many; of each the number, nothing, place, how many sequences, which ones, whether what follows is wanted. */
    static final StructLayout BATCH = MemoryLayout.structLayout(JAVA_INT, MemoryLayout.paddingLayout(4),
            ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS);

    private static final Linker LINKER = Linker.nativeLinker();
    private static final SymbolLookup SYMBOLS = LlamaLibrary.lookup();

    private static final MethodHandle LOG_SET = handle("llama_log_set", FunctionDescriptor.ofVoid(ADDRESS, ADDRESS));
    private static final MethodHandle BACKEND_INIT = handle("llama_backend_init", FunctionDescriptor.ofVoid());
    private static final MethodHandle MODEL_DEFAULTS = handle("llama_model_default_params",
            FunctionDescriptor.of(MODEL.layout()));
    private static final MethodHandle CONTEXT_DEFAULTS = handle("llama_context_default_params",
            FunctionDescriptor.of(CONTEXT.layout()));
    private static final MethodHandle MODEL_LOAD = handle("llama_model_load_from_file",
            FunctionDescriptor.of(ADDRESS, ADDRESS, MODEL.layout()));
    private static final MethodHandle MODEL_FREE = handle("llama_model_free", FunctionDescriptor.ofVoid(ADDRESS));
    private static final MethodHandle CONTEXT_NEW = handle("llama_init_from_model",
            FunctionDescriptor.of(ADDRESS, ADDRESS, CONTEXT.layout()));
    private static final MethodHandle CONTEXT_FREE = handle("llama_free", FunctionDescriptor.ofVoid(ADDRESS));
    private static final MethodHandle DECODE = handle("llama_decode", FunctionDescriptor.of(JAVA_INT, ADDRESS, BATCH));
    private static final MethodHandle LOGITS = handle("llama_get_logits_ith",
            FunctionDescriptor.of(ADDRESS, ADDRESS, JAVA_INT));
    private static final MethodHandle STATE_SIZE = handle("llama_state_seq_get_size",
            FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_INT));
    private static final MethodHandle STATE_GET = handle("llama_state_seq_get_data",
            FunctionDescriptor.of(JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT));
    private static final MethodHandle STATE_SET = handle("llama_state_seq_set_data",
            FunctionDescriptor.of(JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT));
    private static final MethodHandle SEQUENCE_COPY = handle("llama_kv_self_seq_cp",
            FunctionDescriptor.ofVoid(ADDRESS, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT));
    private static final MethodHandle SEQUENCE_REMOVE = handle("llama_kv_self_seq_rm",
            FunctionDescriptor.of(JAVA_BOOLEAN, ADDRESS, JAVA_INT, JAVA_INT, JAVA_INT));

    static {
        // It logs every step to standard error, unless it is told another function for that: the first argument is a number, and this one does nothing.
        MemorySegment silence = LINKER.defaultLookup().findOrThrow("abs");
        run(() -> {
            LOG_SET.invokeExact(silence, MemorySegment.NULL);
        });
        run(() -> {
            BACKEND_INIT.invokeExact();
        });
    }

    private LlamaApi() {}

    private static Field number(String name, int byDefault) {
        return new Field(name, JAVA_INT, byDefault);
    }

    private static Field real(String name, float byDefault) {
        return new Field(name, JAVA_FLOAT, byDefault);
    }

    private static Field flag(String name, boolean byDefault) {
        return new Field(name, JAVA_BOOLEAN, byDefault);
    }

    private static Field address(String name) {
        return new Field(name, ADDRESS, 0L);
    }

    private static MethodHandle handle(String name, FunctionDescriptor descriptor) {
        return LINKER.downcallHandle(SYMBOLS.findOrThrow(name), descriptor);
    }

    @FunctionalInterface
    private interface Call<T> {
        T call() throws Throwable;
    }

    @FunctionalInterface
    private interface Run {
        void run() throws Throwable;
    }

    /** The handles throw nothing of their own. */
    private static <T> T call(Call<T> call) {
        try {
            return call.call();
        } catch (Throwable e) {
            throw new AssertionError("a call of llama.cpp", e);
        }
    }

    private static void run(Run run) {
        call(() -> {
            run.run();
            return true;
        });
    }

    // ---- models

    static MemorySegment modelDefaults(SegmentAllocator memory) {
        return MODEL.checked(call(() -> (MemorySegment) MODEL_DEFAULTS.invokeExact(memory)));
    }

    /** NULL where it can't. */
    static MemorySegment loadModel(MemorySegment path, MemorySegment parameters) {
        return call(() -> (MemorySegment) MODEL_LOAD.invokeExact(path, parameters));
    }

    static void freeModel(MemorySegment model) {
        run(() -> {
            MODEL_FREE.invokeExact(model);
        });
    }

    // ---- contexts

    static MemorySegment contextDefaults(SegmentAllocator memory) {
        return CONTEXT.checked(call(() -> (MemorySegment) CONTEXT_DEFAULTS.invokeExact(memory)));
    }

    /** NULL where it can't. */
    static MemorySegment newContext(MemorySegment model, MemorySegment parameters) {
        return call(() -> (MemorySegment) CONTEXT_NEW.invokeExact(model, parameters));
    }

    static void freeContext(MemorySegment context) {
        run(() -> {
            CONTEXT_FREE.invokeExact(context);
        });
    }

    /** Not 0 where it can't: 1 = no room. */
    static int decode(MemorySegment context, MemorySegment batch) {
        return call(() -> (int) DECODE.invokeExact(context, batch));
    }

    /** What follows a token of the last batch; the context's memory, until the next one. */
    static MemorySegment logits(MemorySegment context, int token, int vocabulary) {
        MemorySegment found = call(() -> (MemorySegment) LOGITS.invokeExact(context, token));
        return found.reinterpret((long) vocabulary * Float.BYTES);
    }

    // ---- sequences of a context

    static long stateBytes(MemorySegment context, int sequence) {
        return call(() -> (long) STATE_SIZE.invokeExact(context, sequence));
    }

    /** How many bytes were written; 0 where there is no room. */
    static long getState(MemorySegment context, MemorySegment target, int sequence) {
        return call(() -> (long) STATE_GET.invokeExact(context, target, target.byteSize(), sequence));
    }

    /** How many bytes were taken; 0 where they are no state, or there is no room. */
    static long setState(MemorySegment context, MemorySegment source, int sequence) {
        return call(() -> (long) STATE_SET.invokeExact(context, source, source.byteSize(), sequence));
    }

    /** The tokens from a place up to another one are another sequence's, too; -1 = the first, the last. */
    static void copySequence(MemorySegment context, int source, int target, int from, int to) {
        run(() -> {
            SEQUENCE_COPY.invokeExact(context, source, target, from, to);
        });
    }

    /** All of its tokens are its no more; -1 = of all sequences. */
    static void removeSequence(MemorySegment context, int sequence) {
        boolean done = call(() -> (boolean) SEQUENCE_REMOVE.invokeExact(context, sequence, -1, -1));
        if (!done) {
            throw new IllegalStateException("llama.cpp keeps the tokens of sequence " + sequence);
        }
    }
}
