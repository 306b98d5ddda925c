package io.mooncake.bench.cli;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * What the bench writes into blocks, and checks every byte of when it reads them.
 *
 * <pre>
 *   word 0       the writing: a number that the bench gives to each write of any block, never twice
 *   word i       mixed from the block's id, the writing and i
 *   last bytes   of a length that is no multiple of 8: the low bytes of the next word
 * </pre>
 *
 * <p>So bytes of another block, of another writing of the same block, or at another place are all wrong bytes. A version is known only
 * when a block is committed, after its bytes are there; hence the writing, which the {@link Ledger} ties to the version.
 */
final class Content {
    /** The least length that a block of the bench has. */
    static final long MIN_BYTES = 64;

    private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final long GOLDEN = 0x9e3779b97f4a7c15L;
    private static final int CHUNK_WORDS = 512;

    private Content() {}

    /**
     * Fills a block.
     *
     * @param block native memory, 8-byte aligned, at least {@link #MIN_BYTES}
     * @param hashId the block's id in the trace
     * @param writing the number of this write
     */
    static void fill(MemorySegment block, long hashId, long writing) {
        long seed = seed(hashId, writing);
        long words = block.byteSize() / Long.BYTES;
        for (long from = 0; from < words; from += CHUNK_WORDS) {
            int count = (int) Math.min(CHUNK_WORDS, words - from);
            MemorySegment chunk = block.asSlice(from * Long.BYTES, (long) count * Long.BYTES);
            long x = seed + from * GOLDEN;
            for (int i = 0; i < count; i++, x += GOLDEN) {
                chunk.setAtIndex(WORD, i, mix(x));
            }
        }
        block.set(WORD, 0, writing);
        for (long i = words * Long.BYTES; i < block.byteSize(); i++) {
            block.set(JAVA_BYTE, i, byteAt(seed, writing, i));
        }
    }

    /**
     * Checks every byte of a block.
     *
     * @param block native memory, 8-byte aligned, at least {@link #MIN_BYTES}
     * @param hashId the block's id in the trace
     * @param writing the number of the write that the block's version names
     * @return the first wrong byte, or -1 when there is none
     */
    static long firstWrongByte(MemorySegment block, long hashId, long writing) {
        long seed = seed(hashId, writing);
        long words = block.byteSize() / Long.BYTES;
        for (long from = 0; from < words; from += CHUNK_WORDS) {
            int count = (int) Math.min(CHUNK_WORDS, words - from);
            MemorySegment chunk = block.asSlice(from * Long.BYTES, (long) count * Long.BYTES);
            int start = from == 0 ? 1 : 0;
            long different = from == 0 ? block.get(WORD, 0) ^ writing : 0;
            long x = seed + (from + start) * GOLDEN;
            for (int i = start; i < count; i++, x += GOLDEN) {
                different |= chunk.getAtIndex(WORD, i) ^ mix(x);
            }
            if (different != 0) {
                return firstWrongByte(block, seed, writing, from * Long.BYTES);
            }
        }
        return firstWrongByte(block, seed, writing, words * Long.BYTES);
    }

    private static long firstWrongByte(MemorySegment block, long seed, long writing, long from) {
        for (long i = from; i < block.byteSize(); i++) {
            if (block.get(JAVA_BYTE, i) != byteAt(seed, writing, i)) {
                return i;
            }
        }
        return -1;
    }

    /** The writing that a block says it is made of. */
    static long writing(MemorySegment block) {
        return block.get(WORD, 0);
    }

    /** The byte that belongs at an offset of a block. */
    static byte expected(long hashId, long writing, long offset) {
        return byteAt(seed(hashId, writing), writing, offset);
    }

    private static byte byteAt(long seed, long writing, long offset) {
        long index = offset / Long.BYTES;
        long word = index == 0 ? writing : mix(seed + index * GOLDEN);
        return (byte) (word >>> (Byte.SIZE * (offset % Long.BYTES)));
    }

    private static long mix(long x) {
        return x ^ (x >>> 29);
    }

    private static long seed(long hashId, long writing) {
        long x = (hashId ^ (Long.rotateLeft(writing, 32) * GOLDEN)) * 0xbf58476d1ce4e5b9L;
        x = (x ^ (x >>> 31)) * 0x94d049bb133111ebL;
        return x ^ (x >>> 29);
    }
}
