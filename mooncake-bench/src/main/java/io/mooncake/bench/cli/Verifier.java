package io.mooncake.bench.cli;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Version;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;

/** Checks that what was read of a block is, to the byte, what the bench wrote as that version of it. One thread. */
final class Verifier implements Witness {
    private final Ledger ledger;
    private final ReplayStats stats;

    Verifier(Ledger ledger, ReplayStats stats) {
        this.ledger = ledger;
        this.stats = stats;
    }

    @Override
    public long nextWriting() {
        return ledger.nextWriting();
    }

    @Override
    public void wrote(int node, long hashId, BlockRef ref, long writing) {
        ledger.has(node, ref.id(), ref.version(), writing);
    }

    @Override
    public void pulled(int node, BlockId id, Version version) {
        ledger.has(node, id, version, ledger.writing(id, version));
    }

    @Override
    public boolean verify(BlockRef ref, long hashId, MemorySegment bytes, AccessPath path) {
        long writing = ledger.writing(ref.id(), ref.version());
        if (writing == Ledger.UNKNOWN) {
            stats.verificationError(describe(ref, path) + ": nobody wrote that version");
            return false;
        }
        String fault = fault(ref, hashId, bytes, writing);
        if (fault != null) {
            stats.verificationError(describe(ref, path) + ": " + fault);
        }
        return fault == null;
    }

    /**
     * Compares a block with a writing.
     *
     * @param ref which version was read
     * @param hashId the block's id in the trace
     * @param bytes what was read
     * @param writing what it must consist of
     * @return where it differs, in words; null when every byte is right
     */
    static @Nullable String fault(BlockRef ref, long hashId, MemorySegment bytes, long writing) {
        if (bytes.byteSize() != ref.length()) {
            return bytes.byteSize() + " bytes were read of " + ref.length();
        }
        long wrong = Content.firstWrongByte(bytes, hashId, writing);
        return wrong < 0
                ? null
                : String.format("byte %d of %d is 0x%02x and must be 0x%02x", wrong, bytes.byteSize(),
                        bytes.get(ValueLayout.JAVA_BYTE, wrong), Content.expected(hashId, writing, wrong));
    }

    static String describe(BlockRef ref, AccessPath path) {
        return "block " + ref.id() + ", " + ref.version() + " of " + ref.node() + ", by " + path.label();
    }
}
