package io.mooncake.core.block;

import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.Memory.FileMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;

/**
 * Where one written block is, and how to prove that it still is. Immutable; what commit returns, what a registry keeps, and
 * what an engine may send in its own messages: {@code read(ref)} needs no registry.
 *
 * <p>Encoded in 128 bytes, little-endian but for the id:
 *
 * <pre>
 *   0    id               32   as BlockId writes it
 *   32   version counter   8
 *   40   version writer    8
 *   48   incarnation       8   of the node that holds the block
 *   56   offset            8   of the block's first byte in the region
 *   64   length            8   valid bytes
 *   72   guard             8   generation:60 | state:4, WRITTEN
 *   80   region            4
 *   84   guard index       4   entry of the region's guard table
 *   88   format            1   1
 *   89   name length       1   1 to 32
 *   90   reserved          2   0
 *   92   CRC32C            4   of the other 124 bytes
 *   96   node name        32   ASCII, zero padded
 * </pre>
 *
 * @param id the block
 * @param version which writing of it
 * @param node who holds it, with the incarnation
 * @param region the holder's number of the region
 * @param offset first byte in the region
 * @param length valid bytes
 * @param guardIndex entry in the region's guard table
 * @param guard what the entry reads as long as the block is there
 */
public record BlockRef(BlockId id, Version version, NodeId node, int region, long offset, long length, int guardIndex,
        long guard) {
    /** Bytes of an encoded reference. */
    public static final int BYTES = 128;
    /** Bytes from one guard to the next in a guard table. */
    public static final int GUARD_STRIDE = 64;

    private static final byte FORMAT = 1;
    private static final int CRC_AT = 92;
    private static final int NAME_AT = 96;

    /**
     * Checks the numbers.
     *
     * @throws MooncakeException INVALID_ARGUMENT
     */
    public BlockRef {
        if (region < 0 || guardIndex < 0 || offset < 0 || length < 0 || offset + length < 0) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    "block ref of " + id + ": region " + region + ", guard index "
                            + guardIndex + ", offset " + offset + " and length " + length
                            + " must not be negative or overflow");
        }
    }

    /**
     * Where the guard stands in the guard table.
     *
     * @return guard index times {@value #GUARD_STRIDE}
     */
    public long guardOffset() {
        return (long) guardIndex * GUARD_STRIDE;
    }

    /**
     * Where the block is, as seen from its own node. Out of DRAM others read it; what is in another tier they ask for, and it comes there first.
     *
     * @return as the region's number says
     */
    public Tier tier() {
        return region >= FileMemory.FIRST_REGION
                ? Tier.SLOW
                : region >= DeviceMemory.FIRST_REGION ? Tier.VRAM : Tier.DRAM;
    }

    /**
     * Whether the block is in a file of its node.
     *
     * @return whether that is its {@link #tier()}
     */
    public boolean isInFile() {
        return tier() == Tier.SLOW;
    }

    /**
     * Whether another reference leads to the same bytes, wherever they are: the same version, or an id that names its content.
     *
     * @param other to the same or another block
     * @return true when either will do
     */
    public boolean isSameContent(BlockRef other) {
        return id.equals(other.id) && (id.isContentAddressed() || version.equals(other.version));
    }

    /**
     * Encodes.
     *
     * @return {@value #BYTES} bytes
     */
    public byte[] toBytes() {
        ByteBuffer out = ByteBuffer.allocate(BYTES).order(ByteOrder.LITTLE_ENDIAN);
        byte[] name = node.nameBytes();
        id.write(out);
        out.putLong(version.counter())
                .putLong(version.writer())
                .putLong(node.incarnation())
                .putLong(offset)
                .putLong(length)
                .putLong(guard)
                .putInt(region)
                .putInt(guardIndex)
                .put(FORMAT)
                .put((byte) name.length);
        out.put(NAME_AT, name);
        out.putInt(CRC_AT, checksum(out.array()));
        return out.array();
    }

    /**
     * Decodes.
     *
     * @param bytes {@value #BYTES} bytes from outside
     * @return the reference
     * @throws MooncakeException INVALID_ARGUMENT when the bytes are no reference
     */
    public static BlockRef fromBytes(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    "a block ref has " + BYTES + " bytes, not " + bytes.length);
        }
        ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        int nameLength = in.get(89);
        if (in.get(88) != FORMAT || in.getInt(CRC_AT) != checksum(bytes) || nameLength < 1
                || nameLength > NodeId.MAX_NAME_BYTES) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, "these " + BYTES
                    + " bytes are no block ref of format 1: wrong format, name length or checksum");
        }
        String name = new String(bytes, NAME_AT, nameLength, StandardCharsets.US_ASCII);
        return new BlockRef(BlockId.read(in), new Version(in.getLong(32), in.getLong(40)),
                new NodeId(name, in.getLong(48)),
                in.getInt(80), in.getLong(56), in.getLong(64), in.getInt(84), in.getLong(72));
    }

    private static int checksum(byte[] bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, CRC_AT);
        crc.update(bytes, NAME_AT, BYTES - NAME_AT);
        return (int) crc.getValue();
    }
}
