package io.mooncake.core.archfixture.rogue;

import java.lang.foreign.Linker;
import java.util.ServiceLoader;
import org.agrona.DirectBuffer;
import org.jspecify.annotations.NullMarked;

/** Breaks: a package that nobody wrote down, and every ban. */
@NullMarked
final class Rogue {

    private Rogue() {}

    static void sleeps() throws InterruptedException {
        Thread.sleep(1);
    }

    static Object reflects() throws ReflectiveOperationException {
        return Rogue.class.getDeclaredMethod("sleeps");
    }

    static Object loads() {
        return ServiceLoader.load(Runnable.class);
    }

    static Object links() {
        return Linker.nativeLinker();
    }

    static int buffer(DirectBuffer buffer) {
        return buffer.capacity();
    }
}
