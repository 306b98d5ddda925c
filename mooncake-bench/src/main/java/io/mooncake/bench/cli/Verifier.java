package io.mooncake.bench.cli;

import io.mooncake.core.block.BlockRef;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Checks that what was read of a block is, to the byte, what the bench wrote as that version of it. One thread. */
final class Verifier {
    private final Ledger ledger;
    private final ReplayStats stats;

    Verifier(Ledger ledger, ReplayStats stats) {
        this.ledger = ledger;
        this.stats = stats;
    }

    /**
     * Checks a block; what is wrong is reported and counted.
     *
     * @param ref which version was read
     * @param hashId the block's id in the trace
     * @param bytes what was read
     * @param path how it was read
     * @return whether every byte is right
     */
    boolean verify(BlockRef ref, long hashId, MemorySegment bytes, AccessPath path) {
        long writing = ledger.writing(ref.id(), ref.version());
        if (writing == Ledger.UNKNOWN) {
            stats.verificationError(describe(ref, path) + ": nobody wrote that version");
            return false;
        }
        if (bytes.byteSize() != ref.length()) {
            stats.verificationError(
                    describe(ref, path) + ": " + bytes.byteSize() + " bytes were read of " + ref.length());
            return false;
        }
        long wrong = Content.firstWrongByte(bytes, hashId, writing);
        if (wrong >= 0) {
            stats.verificationError(
                    String.format("%s: byte %d of %d is 0x%02x and must be 0x%02x", describe(ref, path), wrong,
                            bytes.byteSize(), bytes.get(ValueLayout.JAVA_BYTE, wrong),
                            Content.expected(hashId, writing, wrong)));
            return false;
        }
        return true;
    }

    private static String describe(BlockRef ref, AccessPath path) {
        return "block " + ref.id() + ", " + ref.version() + " of " + ref.node() + ", by " + path.label();
    }
}
