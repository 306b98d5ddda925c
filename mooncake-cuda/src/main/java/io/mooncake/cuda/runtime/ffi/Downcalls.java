package io.mooncake.cuda.runtime.ffi;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** What all bindings by hand have in common. Safe from any thread. */
@SuppressWarnings("restricted")
final class Downcalls {
    private Downcalls() {}

    /** A C function that answers with an int, an error code as a rule. */
    static MethodHandle bind(SymbolLookup library, String function, MemoryLayout... parameters) {
        return Linker.nativeLinker()
                .downcallHandle(library.findOrThrow(function),
                        FunctionDescriptor.of(ValueLayout.JAVA_INT, parameters));
    }

    /** What a call of it threw; there is nothing checked. */
    static RuntimeException unexpected(Throwable thrown) {
        if (thrown instanceof Error error) {
            throw error;
        }
        if (thrown instanceof RuntimeException exception) {
            throw exception;
        }
        throw new AssertionError("a downcall has no checked exception", thrown);
    }
}
