package io.mooncake.rdma.verbs.ffi;

import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Where the bindings find libibverbs: the path in the system property {@value #PATH_PROPERTY}, else the soname
 * {@code libibverbs.so.1}, which the dynamic loader searches. Opened once, when this class is initialised, which never
 * throws; the library stays open for the life of the process. Safe from any thread.
 *
 * <p>Ask {@link #failure()} before any generated class is touched: their second use after a failed lookup is a bare
 * {@link NoClassDefFoundError}.
 */
@SuppressWarnings("restricted")
public final class VerbsLibrary {

    /** The system property that names the library's file. */
    public static final String PATH_PROPERTY = "io.mooncake.rdma.library";

    static final String SONAME = "libibverbs.so.1";

    /** Bound and needed; a library without one of these is refused as a whole. */
    static final List<String> REQUIRED = List.of( //
            "ibv_get_device_list", "ibv_free_device_list", "ibv_get_device_name", "ibv_get_device_guid",
            "ibv_open_device", "ibv_close_device", "ibv_query_device", "ibv_query_port", "ibv_query_gid",
            "ibv_query_pkey", "ibv_alloc_pd", "ibv_dealloc_pd", "ibv_reg_mr", "ibv_reg_mr_iova2", "ibv_dereg_mr",
            "ibv_create_comp_channel", "ibv_destroy_comp_channel", "ibv_create_cq", "ibv_destroy_cq",
            "ibv_get_cq_event", "ibv_ack_cq_events", "ibv_create_qp", "ibv_modify_qp", "ibv_query_qp",
            "ibv_destroy_qp", "ibv_create_srq", "ibv_destroy_srq", "ibv_get_async_event", "ibv_ack_async_event",
            "ibv_wc_status_str", "ibv_event_type_str", "ibv_port_state_str", "ibv_fork_init", "_ibv_query_gid_ex",
            "_ibv_query_gid_table");

    /** Bound, but only GPUDirect without the peer-memory module needs it (rdma-core 34 and later). */
    static final List<String> OPTIONAL = List.of("ibv_reg_dmabuf_mr");

    private static final Opened OPENED = open(System.getProperty(PATH_PROPERTY));

    private VerbsLibrary() {}

    /**
     * The library's symbols.
     *
     * @return the lookup that the generated bindings use
     * @throws UnsatisfiedLinkError with the sentence of {@link #failure()}; an {@link Error} passes the initialisation of
     *     the generated classes unwrapped
     */
    public static SymbolLookup lookup() {
        UnsatisfiedLinkError failure = OPENED.failure;
        if (failure != null) {
            UnsatisfiedLinkError error = new UnsatisfiedLinkError(failure.getMessage());
            error.initCause(failure);
            throw error;
        }
        return Objects.requireNonNull(OPENED.symbols);
    }

    /**
     * Whether the open library exports a function.
     *
     * @param symbol its name
     * @return false, too, when the library is not open
     */
    public static boolean has(String symbol) {
        SymbolLookup symbols = OPENED.symbols;
        return symbols != null && symbols.find(symbol).isPresent();
    }

    /**
     * Why the library can't be used.
     *
     * @return one sentence with its remedy as the message, the same at every call; null when the library is open
     */
    public static @Nullable UnsatisfiedLinkError failure() {
        return OPENED.failure;
    }

    /** What a try to open the library gave: exactly one of the two is null. */
    record Opened(@Nullable SymbolLookup symbols, @Nullable UnsatisfiedLinkError failure) {

        static Opened failed(String sentence, @Nullable Throwable cause) {
            UnsatisfiedLinkError error = new UnsatisfiedLinkError(sentence);
            if (cause != null) {
                error.initCause(cause);
            }
            return new Opened(null, error);
        }
    }

    static Opened open(@Nullable String path) {
        String name = path == null ? SONAME : path;
        SymbolLookup symbols;
        try {
            if (path != null && !Files.isRegularFile(Path.of(path))) {
                return Opened.failed("-D" + PATH_PROPERTY + "=" + path
                        + ": there is no such file; correct the path, or drop the property to search for " + SONAME,
                        null);
            }
            symbols = path == null
                    ? SymbolLookup.libraryLookup(SONAME, Arena.global())
                    : SymbolLookup.libraryLookup(Path.of(path), Arena.global());
        } catch (IllegalCallerException denied) {
            return Opened
                    .failed("native access is denied to " + grantee() + ": start the JVM with --enable-native-access="
                            + grantee(), denied);
        } catch (IllegalArgumentException e) {
            String remedy = path == null
                    ? "; install it (package libibverbs1 or rdma-core), or name its file with -D" + PATH_PROPERTY
                            + "=PATH"
                    : ", which -D" + PATH_PROPERTY + " names; it must be a shared library for this machine whose own "
                            + "dependencies are installed";
            return Opened.failed("cannot open " + name + remedy, e);
        }
        for (String symbol : REQUIRED) {
            if (symbols.find(symbol).isEmpty()) {
                return Opened.failed(name + " lacks the symbol " + symbol + ": install rdma-core 33 or later", null);
            }
        }
        return new Opened(symbols, null);
    }

    /** What the JVM's flag calls the code that asks: the module, or everything on the class path. */
    private static String grantee() {
        Module module = VerbsLibrary.class.getModule();
        return module.isNamed() ? module.getName() : "ALL-UNNAMED";
    }
}
