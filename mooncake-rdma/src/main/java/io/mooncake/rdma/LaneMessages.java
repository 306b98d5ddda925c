package io.mooncake.rdma;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.UnitChecksums;
import io.mooncake.rdma.LaneMessage.Closed;
import io.mooncake.rdma.LaneMessage.Keys;
import io.mooncake.rdma.LaneMessage.NoRegion;
import io.mooncake.rdma.LaneMessage.Purpose;
import io.mooncake.rdma.LaneMessage.Query;
import io.mooncake.rdma.LaneMessage.Refused;
import io.mooncake.rdma.LaneMessage.Reply;
import io.mooncake.rdma.LaneMessage.Request;
import io.mooncake.rdma.LaneMessage.TableKey;
import io.mooncake.rdma.verbs.Gid;
import io.mooncake.rdma.verbs.PathMtu;
import io.mooncake.rdma.verbs.PeerEnd;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * The bytes of {@link LaneMessage}. Numbers are little-endian, a GID is in network order.
 *
 * <pre>
 *   0  version 1 | type 1 | kind or purpose 2 | region 4 | lane 8 |               every message; zero where it has none
 *   16 REQUEST    incarnation 8 | end
 *      REPLY      key epoch 8   | end
 *      KEYS       key epoch 8 | address 8 | length 8 | stride 8 | guards' table | checksums' table | count 4 | key 4 each
 *      REFUSED, NO_REGION   text, UTF-8, at most 512
 *      QUERY, CLOSED_BY_READER, CLOSED_BY_OWNER   nothing
 *
 *   table: address 8 | length 8 | key 4
 *   end: queue pair 4 | first packet 4 | mtu 1 | reads 1 | lid 2 | gid 16
 * </pre>
 */
final class LaneMessages {
    static final int VERSION = 3;

    private static final int REQUEST = 1;
    private static final int REPLY = 2;
    private static final int REFUSED = 3;
    private static final int CLOSED_BY_READER = 4;
    private static final int CLOSED_BY_OWNER = 5;
    private static final int QUERY = 6;
    private static final int KEYS = 7;
    private static final int NO_REGION = 8;

    private static final int HEADER_BYTES = 16;
    private static final int END_BYTES = 12 + Gid.BYTES;
    private static final int READS_AT = 9;
    private static final int KEYS_BYTES = 76;
    /** Keys that fit into one message. */
    static final int MAX_KEYS = (EngineContext.MAX_MESSAGE_BYTES - HEADER_BYTES - KEYS_BYTES) / Integer.BYTES;
    private static final int MAX_TEXT_BYTES = 512;
    private static final int MAX_24_BITS = 0xFFFFFF;
    private static final int MAX_MTU = 5;
    private static final Kind[] KINDS = Kind.values();
    private static final Purpose[] PURPOSES = Purpose.values();

    private LaneMessages() {}

    /**
     * Writes a message.
     *
     * @return its bytes, from position to limit
     */
    static ByteBuffer encode(LaneMessage message) {
        return switch (message) {
            case Request request -> end(begin(REQUEST, request, 8 + END_BYTES)
                    .putShort(2, (short) request.purpose().ordinal())
                    .putLong(request.incarnation()), request.reads(), request.end());
            case Reply reply -> end(begin(REPLY, reply, 8 + END_BYTES).putLong(reply.keyEpoch()), reply.reads(),
                    reply.end());
            case Refused refused -> text(begin(REFUSED, refused, MAX_TEXT_BYTES), refused.kind(), 0, refused.text());
            case Closed closed -> begin(closed.byOwner() ? CLOSED_BY_OWNER : CLOSED_BY_READER, closed, 0).flip();
            case Query query -> begin(QUERY, query, 0).putInt(4, query.region()).flip();
            case Keys keys -> encode(keys);
            case NoRegion none -> text(begin(NO_REGION, none, MAX_TEXT_BYTES), none.kind(), none.region(),
                    none.text());
        };
    }

    private static ByteBuffer begin(int type, LaneMessage message, int bodyBytes) {
        return ByteBuffer.allocate(HEADER_BYTES + bodyBytes)
                .order(ByteOrder.LITTLE_ENDIAN)
                .put((byte) VERSION)
                .put((byte) type)
                .putShort((short) 0)
                .putInt(0)
                .putLong(message.lane());
    }

    private static ByteBuffer end(ByteBuffer out, int reads, PeerEnd end) {
        return out.putInt(end.queuePair())
                .putInt(end.packetNumber())
                .put((byte) end.mtu().code())
                .put((byte) reads)
                .putShort((short) end.lid())
                .put(end.gid())
                .flip();
    }

    private static ByteBuffer text(ByteBuffer out, Kind kind, int region, String text) {
        out.putShort(2, (short) kind.ordinal()).putInt(4, region);
        byte[] all = text.getBytes(StandardCharsets.UTF_8);
        return out.put(all, 0, Math.min(all.length, MAX_TEXT_BYTES)).flip();
    }

    private static ByteBuffer encode(Keys keys) {
        ByteBuffer out = begin(KEYS, keys, KEYS_BYTES + keys.keys().size() * Integer.BYTES).putInt(4, keys.region())
                .putLong(keys.keyEpoch())
                .putLong(keys.address())
                .putLong(keys.length())
                .putLong(keys.stride());
        table(out, keys.guards());
        table(out, keys.checksums()).putInt(keys.keys().size());
        keys.keys().forEach(out::putInt);
        return out.flip();
    }

    private static ByteBuffer table(ByteBuffer out, TableKey table) {
        return out.putLong(table.address()).putLong(table.length()).putInt(table.key());
    }

    /**
     * Reads a message.
     *
     * @param message from a peer
     * @return what it says
     * @throws MooncakeException PROTOCOL_ERROR when it is none, or says what cannot be
     */
    static LaneMessage decode(byte[] message) {
        ByteBuffer in = ByteBuffer.wrap(message).order(ByteOrder.LITTLE_ENDIAN);
        check(message.length >= HEADER_BYTES && in.get(0) == VERSION, message.length,
                "no lane message of version " + VERSION + ": run the same release on both nodes");
        int type = in.get(1);
        int region = in.getInt(4);
        long lane = in.getLong(8);
        int body = message.length - HEADER_BYTES;
        in.position(HEADER_BYTES);
        return switch (type) {
            case REQUEST, REPLY -> {
                check(body == 8 + END_BYTES, body, "bytes of a request or reply");
                long number = in.getLong();
                int reads = in.get(HEADER_BYTES + 8 + READS_AT) & 0xFF;
                check(reads > 0, reads, "READs");
                PeerEnd end = end(in);
                yield type == REQUEST
                        ? new Request(lane, purpose(in), number, reads, end)
                        : new Reply(lane, number, reads, end);
            }
            case REFUSED -> new Refused(lane, kind(in), text(in));
            case CLOSED_BY_READER, CLOSED_BY_OWNER -> {
                check(body == 0, body, "bytes of a closing");
                yield new Closed(lane, type == CLOSED_BY_OWNER);
            }
            case QUERY -> {
                check(body == 0, body, "bytes of a query");
                yield new Query(lane, region);
            }
            case KEYS -> keys(in, lane, region);
            case NO_REGION -> new NoRegion(lane, region, kind(in), text(in));
            default -> throw new MooncakeException(Kind.PROTOCOL_ERROR, "lane message of type " + type);
        };
    }

    private static PeerEnd end(ByteBuffer in) {
        int queuePair = in.getInt();
        int packetNumber = in.getInt();
        int mtu = in.get();
        in.get(); // reads
        int lid = in.getShort() & 0xFFFF;
        byte[] gid = new byte[Gid.BYTES];
        in.get(gid);
        check(queuePair >= 0 && queuePair <= MAX_24_BITS, queuePair, "as a queue pair's number");
        check(packetNumber >= 0 && packetNumber <= MAX_24_BITS, packetNumber, "as a packet's number");
        check(mtu >= 1 && mtu <= MAX_MTU, mtu, "as an MTU");
        return new PeerEnd(queuePair, packetNumber, PathMtu.of(mtu), lid, gid);
    }

    private static Purpose purpose(ByteBuffer in) {
        int ordinal = in.getShort(2);
        check(ordinal >= 0 && ordinal < PURPOSES.length, ordinal, "as a lane's purpose");
        return PURPOSES[ordinal];
    }

    private static Kind kind(ByteBuffer in) {
        int ordinal = in.getShort(2);
        check(ordinal >= 0 && ordinal < KINDS.length, ordinal, "as a kind of error");
        return KINDS[ordinal];
    }

    private static String text(ByteBuffer in) {
        check(in.remaining() <= MAX_TEXT_BYTES, in.remaining(), "bytes of text");
        byte[] text = new byte[in.remaining()];
        in.get(text);
        return new String(text, StandardCharsets.UTF_8);
    }

    private static Keys keys(ByteBuffer in, long lane, int region) {
        check(in.remaining() >= KEYS_BYTES, in.remaining(), "bytes of a region's keys");
        long keyEpoch = in.getLong();
        long address = in.getLong();
        long length = in.getLong();
        long stride = in.getLong();
        TableKey guards = table(in);
        TableKey checksums = table(in);
        int count = in.getInt();
        check(count >= 1 && count <= MAX_KEYS && in.remaining() == count * Integer.BYTES, count, "keys");
        check(length > 0 && address <= Long.MAX_VALUE - length, length, "as a region's length");
        check(stride > 0 && (length - 1) / stride < count, stride, "as a stride");
        check(checksums.length() == 0 || (guards.length() > 0 && guards.length() % GuardSource.GUARD_STRIDE == 0
                && UnitChecksums.fits(checksums.length(), guards.length() / GuardSource.GUARD_STRIDE)),
                checksums.length(), "as the length of a table of checksums");
        List<Integer> keys = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            keys.add(in.getInt());
        }
        return new Keys(lane, region, keyEpoch, address, length, stride, keys, guards, checksums);
    }

    private static TableKey table(ByteBuffer in) {
        TableKey table = new TableKey(in.getLong(), in.getLong(), in.getInt());
        check(table.length() >= 0 && table.address() <= Long.MAX_VALUE - table.length(), table.length(),
                "as a table's length");
        return table;
    }

    private static void check(boolean fits, long value, String what) {
        if (!fits) {
            throw new MooncakeException(Kind.PROTOCOL_ERROR, "lane message with " + value + " " + what);
        }
    }
}
