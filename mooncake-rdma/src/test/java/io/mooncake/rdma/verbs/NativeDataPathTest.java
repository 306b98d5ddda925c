package io.mooncake.rdma.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which drivers may skip the thread transition. */
class NativeDataPathTest {

    private static final String LINE = "7f0a1c000000-7f0a1c021000 r-xp 00002000 08:01 393 /usr/lib/libmlx5.so.1.24.44.0";

    @Test
    void shouldFindTheLibraryOfAFunction() {
        assertTrue(NativeDataPath.covers(LINE, 0x7f0a1c000000L));
        assertTrue(NativeDataPath.covers(LINE, 0x7f0a1c020fffL));
        assertFalse(NativeDataPath.covers(LINE, 0x7f0a1c021000L));
        assertFalse(NativeDataPath.covers(LINE, 0x7f0a1bffffffL));
        assertTrue(NativeDataPath.covers("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]",
                0xffffffffff600010L), "addresses are unsigned");
        assertEquals("libmlx5.so.1.24.44.0", NativeDataPath.fileName(LINE));
    }

    @ParameterizedTest
    @ValueSource(strings = {"libmlx5.so.1.24.44.0", "libmlx4-rdmav34.so", "libirdma-rdmav34.so",
            "libbnxt_re-rdmav34.so",
            "libefa.so.1.2.44.0"})
    void shouldSkipTheTransitionWherePostingIsADoorbell(String library) {
        assertTrue(NativeDataPath.postsFromUserSpace(library));
    }

    @ParameterizedTest
    @ValueSource(strings = {"librxe-rdmav34.so", "libsiw-rdmav34.so", "libibverbs.so.1.14.44.0", "", "[vdso]"})
    void shouldNeverSkipItWherePostingIsASystemCall(String library) {
        assertFalse(NativeDataPath.postsFromUserSpace(library));
    }
}
