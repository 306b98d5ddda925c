package io.mooncake.core.registry;

import io.mooncake.core.base.Hop;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.Site;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.PoolSpace;
import io.mooncake.core.block.Tier;
import io.mooncake.core.block.Version;
import io.mooncake.core.registry.Delta.Evicted;
import io.mooncake.core.registry.Delta.Measured;
import io.mooncake.core.registry.Delta.NodeFacts;
import io.mooncake.core.registry.Delta.RegionFact;
import io.mooncake.core.registry.Delta.Room;
import io.mooncake.core.registry.Delta.Unread;
import io.mooncake.core.registry.Delta.Written;
import io.mooncake.core.registry.PairFigures.Figure;
import io.mooncake.core.registry.RegistryMessage.Ask;
import io.mooncake.core.registry.RegistryMessage.Deltas;
import io.mooncake.core.registry.RegistryMessage.LatestLife;
import io.mooncake.core.registry.RegistryMessage.Snapshot;
import io.mooncake.core.registry.RegistryMessage.WhichLife;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of a {@link RegistryMessage}. Little-endian but for block ids:
 *
 * <pre>
 *   0    magic            2   4D 52 ("MR")
 *   2    version          1   1; a message of another version is refused whole
 *   3    type             1   1 DELTAS, 2 SNAPSHOT, 3 ASK, 4 WHICH_LIFE, 5 LATEST_LIFE
 *   4    body length      4   bytes after the header
 *   8    incarnation      8   of the sender; LATEST_LIFE: the latest known of that name
 *   16   sequence         8   DELTAS: of the first record; SNAPSHOT: of the last delta that is in it; else 0
 *   24   part             2   SNAPSHOT; else 0
 *   26   parts            2   SNAPSHOT; else 0
 *   28   records          2
 *   30   name length      1   1 to 32
 *   31   reserved         1   0
 *   32   sender's name   32   ASCII, zero padded
 *   64   records
 *
 *   record
 *   0    type             1   1 NODE, 2 WRITTEN, 3 EVICTED, 4 MEASURED, 5 ROOM
 *   1    reserved         1   0
 *   2    length           2   of what follows; more than is known is passed over
 *   4    NODE       addresses 1, regions 2; an address: name length 1, name, length 1, text; a region: id 4, length 8, epoch 8;
 *                   then process, host, rack and zone: length 1, text each
 *        WRITTEN    BlockRef 128, of the sender
 *        EVICTED    id 32, version counter 8, writer 8, guard 8, region 4, guard index 4
 *        MEASURED   holder's incarnation 8, name length 1, name, hop 1, figures 1; a figure: name length 1, name, up to bytes 8,
 *                   nanoseconds 8, bytes 8
 *        ROOM       pools 1; a pool: tier 1, device 4, bytes 8, free bytes 8, cached bytes 8
 * </pre>
 */
final class DeltaCodec {
    static final int HEADER_BYTES = 64;
    static final int RECORD_HEADER_BYTES = 4;
    static final byte VERSION = 1;

    private static final short MAGIC = 0x524D;
    private static final int NAME_AT = 32;
    private static final int DELTAS = 1;
    private static final int SNAPSHOT = 2;
    private static final int ASK = 3;
    private static final int WHICH_LIFE = 4;
    private static final int LATEST_LIFE = 5;
    private static final int NODE = 1;
    private static final int WRITTEN = 2;
    private static final int EVICTED = 3;
    private static final int MEASURED = 4;
    private static final int ROOM = 5;
    private static final int EVICTED_BYTES = 64;
    private static final int REGION_BYTES = 20;
    private static final int FIGURE_BYTES = 24;
    private static final int POOL_BYTES = 29;
    private static final List<Hop> HOPS = List.of(Hop.values());
    private static final List<Tier> TIERS = List.of(Tier.values());

    private DeltaCodec() {}

    // ---- out

    static byte[] encode(RegistryMessage message) {
        List<Delta> records = switch (message) {
            case Deltas deltas -> deltas.deltas();
            case Snapshot snapshot -> snapshot.facts();
            case Ask _,WhichLife _,LatestLife _ -> List.of();
        };
        List<byte[]> bodies = new ArrayList<>(records.size());
        long length = 0;
        for (Delta record : records) {
            byte[] body = body(record);
            bodies.add(body);
            length += RECORD_HEADER_BYTES + body.length;
        }
        if (HEADER_BYTES + length > RegistryMessage.MAX_BYTES) {
            throw new MooncakeException(Kind.OUT_OF_BOUNDS, records.size() + " records of " + length + " bytes of "
                    + message.sender() + " do not fit into " + RegistryMessage.MAX_BYTES + ": send fewer at a time");
        }
        ByteBuffer out = ByteBuffer.allocate(HEADER_BYTES + (int) length).order(ByteOrder.LITTLE_ENDIAN);
        header(out, message, (int) length, records.size());
        for (int i = 0; i < bodies.size(); i++) {
            out.put((byte) type(records.get(i))).put((byte) 0).putShort((short) bodies.get(i).length);
            out.put(bodies.get(i));
        }
        return out.array();
    }

    private static void header(ByteBuffer out, RegistryMessage message, int length, int records) {
        byte[] name = message.sender().nameBytes();
        Snapshot snapshot = message instanceof Snapshot part ? part : null;
        out.putShort(MAGIC)
                .put(VERSION)
                .put((byte) type(message))
                .putInt(length)
                .putLong(message.sender().incarnation())
                .putLong(snapshot != null
                        ? snapshot.sequence()
                        : message instanceof Deltas deltas ? deltas.first() : 0)
                .putShort((short) (snapshot == null ? 0 : snapshot.part()))
                .putShort((short) (snapshot == null ? 0 : snapshot.parts()))
                .putShort((short) records)
                .put((byte) name.length);
        out.put(NAME_AT, name);
        out.position(HEADER_BYTES);
    }

    private static int type(RegistryMessage message) {
        return switch (message) {
            case Deltas _ -> DELTAS;
            case Snapshot _ -> SNAPSHOT;
            case Ask _ -> ASK;
            case WhichLife _ -> WHICH_LIFE;
            case LatestLife _ -> LATEST_LIFE;
        };
    }

    private static int type(Delta record) {
        return switch (record) {
            case NodeFacts _ -> NODE;
            case Written _ -> WRITTEN;
            case Evicted _ -> EVICTED;
            case Measured _ -> MEASURED;
            case Room _ -> ROOM;
            case Unread unread -> unread.type();
        };
    }

    /** Bytes of a record with its header. */
    static int bytes(Delta record) {
        return RECORD_HEADER_BYTES + body(record).length;
    }

    private static byte[] body(Delta record) {
        return switch (record) {
            case NodeFacts facts -> node(facts);
            case Written written -> written.ref().toBytes();
            case Evicted evicted -> {
                ByteBuffer out = ByteBuffer.allocate(EVICTED_BYTES).order(ByteOrder.LITTLE_ENDIAN);
                evicted.id().write(out);
                out.putLong(evicted.version().counter())
                        .putLong(evicted.version().writer())
                        .putLong(evicted.guard())
                        .putInt(evicted.region())
                        .putInt(evicted.guardIndex());
                yield out.array();
            }
            case Measured measured -> pair(measured.pair());
            case Room room -> room(room.space());
            case Unread _ -> new byte[0];
        };
    }

    private static byte[] node(NodeFacts facts) {
        Site site = facts.site();
        byte[][] places = {text(site.process()), text(site.host()), text(site.rack()), text(site.zone())};
        int length = 3 + facts.regions().size() * REGION_BYTES;
        for (byte[] place : places) {
            length += 1 + place.length;
        }
        for (Map.Entry<String, String> address : facts.addresses().entrySet()) {
            length += 2 + text(address.getKey()).length + text(address.getValue()).length;
        }
        ByteBuffer out = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
        out.put((byte) facts.addresses().size()).putShort((short) facts.regions().size());
        facts.addresses().forEach((engine, address) -> {
            put(out, text(engine));
            put(out, text(address));
        });
        for (RegionFact region : facts.regions()) {
            out.putInt(region.id()).putLong(region.length()).putLong(region.keyEpoch());
        }
        for (byte[] place : places) {
            put(out, place);
        }
        return out.array();
    }

    private static byte[] pair(PairFigures pair) {
        byte[] holder = pair.holder().nameBytes();
        int length = 8 + 1 + holder.length + 2;
        for (Figure figure : pair.figures()) {
            length += 1 + text(figure.path()).length + FIGURE_BYTES;
        }
        ByteBuffer out = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
        out.putLong(pair.holder().incarnation());
        put(out, holder);
        out.put((byte) pair.hop().ordinal()).put((byte) pair.figures().size());
        for (Figure figure : pair.figures()) {
            put(out, text(figure.path()));
            out.putLong(figure.upToBytes()).putLong(figure.readNs()).putLong(figure.readBytes());
        }
        return out.array();
    }

    private static byte[] room(NodeSpace space) {
        ByteBuffer out = ByteBuffer.allocate(1 + space.pools().size() * POOL_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        out.put((byte) space.pools().size());
        for (PoolSpace pool : space.pools()) {
            out.put((byte) pool.tier().ordinal())
                    .putInt(pool.device())
                    .putLong(pool.bytes())
                    .putLong(pool.freeBytes())
                    .putLong(pool.cachedBytes());
        }
        return out.array();
    }

    private static void put(ByteBuffer out, byte[] text) {
        out.put((byte) text.length).put(text);
    }

    private static byte[] text(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    // ---- in

    static RegistryMessage decode(byte[] bytes) {
        if (bytes.length < HEADER_BYTES || bytes.length > RegistryMessage.MAX_BYTES) {
            throw malformed("has " + bytes.length + " bytes, not " + HEADER_BYTES + " to " + RegistryMessage.MAX_BYTES,
                    null);
        }
        ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        short magic = in.getShort();
        byte version = in.get();
        if (magic != MAGIC || version != VERSION) {
            throw malformed("begins with " + Integer.toHexString(magic & 0xFFFF) + ", version " + version
                    + ": only version " + VERSION + " can be read; run one release everywhere", null);
        }
        int type = in.get();
        int length = in.getInt();
        long incarnation = in.getLong();
        long sequence = in.getLong();
        int part = in.getShort() & 0xFFFF;
        int parts = in.getShort() & 0xFFFF;
        int records = in.getShort() & 0xFFFF;
        int nameLength = in.get();
        if (length != bytes.length - HEADER_BYTES || nameLength < 1 || nameLength > NodeId.MAX_NAME_BYTES) {
            throw malformed("says that its body has " + length + " bytes and its name " + nameLength, null);
        }
        try {
            NodeId sender = new NodeId(new String(bytes, NAME_AT, nameLength, StandardCharsets.US_ASCII), incarnation);
            in.position(HEADER_BYTES);
            return switch (type) {
                case DELTAS -> new Deltas(sender, sequence, records(in, records, sender));
                case SNAPSHOT -> new Snapshot(sender, sequence, part, parts, records(in, records, sender));
                case ASK -> new Ask(sender);
                case WHICH_LIFE -> new WhichLife(sender);
                case LATEST_LIFE -> new LatestLife(sender);
                default -> throw malformed("is of type " + type, null);
            };
        } catch (MooncakeException e) {
            throw e.kind() == Kind.PROTOCOL_ERROR ? e : malformed(e.getMessage(), e);
        }
    }

    private static MooncakeException malformed(String why, @Nullable Exception cause) {
        return new MooncakeException(Kind.PROTOCOL_ERROR, "a registry message that " + why, cause);
    }

    /** As many records as there are bytes for: what is missing of the last one or of their number has not been said. */
    private static List<Delta> records(ByteBuffer in, int count, NodeId sender) {
        List<Delta> records = new ArrayList<>(Math.min(count, in.remaining() / RECORD_HEADER_BYTES));
        while (records.size() < count && in.remaining() >= RECORD_HEADER_BYTES) {
            int type = in.get() & 0xFF;
            in.get();
            int length = in.getShort() & 0xFFFF;
            if (length > in.remaining()) {
                records.add(new Unread(type));
                break;
            }
            ByteBuffer body = in.slice(in.position(), length).order(ByteOrder.LITTLE_ENDIAN);
            in.position(in.position() + length);
            records.add(record(type, body, sender));
        }
        return records;
    }

    private static Delta record(int type, ByteBuffer body, NodeId sender) {
        try {
            return switch (type) {
                case NODE -> node(body);
                case WRITTEN -> written(body, sender);
                case MEASURED -> measured(body, sender);
                case ROOM -> room(body, sender);
                case EVICTED -> body.remaining() < EVICTED_BYTES
                        ? new Unread(type)
                        : evicted(body);
                default -> new Unread(type);
            };
        } catch (MooncakeException e) {
            // Values that a record of ours never has; what it was about stays as it is.
            return new Unread(type);
        }
    }

    private static Delta written(ByteBuffer body, NodeId sender) {
        if (body.remaining() < BlockRef.BYTES) {
            return new Unread(WRITTEN);
        }
        byte[] bytes = new byte[BlockRef.BYTES];
        body.get(bytes);
        BlockRef ref = BlockRef.fromBytes(bytes);
        return ref.node().equals(sender) ? new Written(ref) : new Unread(WRITTEN);
    }

    private static Evicted evicted(ByteBuffer body) {
        BlockId id = BlockId.read(body);
        Version version = new Version(body.getLong(), body.getLong());
        long guard = body.getLong();
        return new Evicted(id, version, body.getInt(), body.getInt(), guard);
    }

    private static Delta node(ByteBuffer body) {
        if (body.remaining() < 3) {
            return new Unread(NODE);
        }
        int addresses = body.get() & 0xFF;
        int regions = body.getShort() & 0xFFFF;
        Map<String, String> byEngine = new HashMap<>();
        for (int i = 0; i < addresses; i++) {
            String engine = text(body);
            String address = text(body);
            if (engine.isEmpty() || address.isEmpty()) {
                return new Unread(NODE);
            }
            byEngine.put(engine, address);
        }
        if (body.remaining() < (long) regions * REGION_BYTES) {
            return new Unread(NODE);
        }
        List<RegionFact> facts = new ArrayList<>(regions);
        for (int i = 0; i < regions; i++) {
            facts.add(new RegionFact(body.getInt(), body.getLong(), body.getLong()));
        }
        // Who does not know of places yet says none.
        return new NodeFacts(byEngine, facts, new Site(text(body), text(body), text(body), text(body)));
    }

    private static Delta measured(ByteBuffer body, NodeId sender) {
        if (body.remaining() < 8) {
            return new Unread(MEASURED);
        }
        long incarnation = body.getLong();
        NodeId holder = new NodeId(text(body), incarnation);
        if (body.remaining() < 2) {
            return new Unread(MEASURED);
        }
        int hop = body.get() & 0xFF;
        int count = body.get() & 0xFF;
        if (hop >= HOPS.size() || count > PairFigures.MAX_FIGURES) {
            return new Unread(MEASURED);
        }
        List<Figure> figures = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            String path = text(body);
            if (body.remaining() < FIGURE_BYTES) {
                return new Unread(MEASURED);
            }
            figures.add(new Figure(path, body.getLong(), body.getLong(), body.getLong()));
        }
        return new Measured(new PairFigures(sender, holder, HOPS.get(hop), figures));
    }

    private static Delta room(ByteBuffer body, NodeId sender) {
        if (!body.hasRemaining()) {
            return new Unread(ROOM);
        }
        int count = body.get() & 0xFF;
        if (body.remaining() < count * POOL_BYTES) {
            return new Unread(ROOM);
        }
        List<PoolSpace> pools = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            int tier = body.get() & 0xFF;
            if (tier >= TIERS.size()) {
                return new Unread(ROOM);
            }
            pools.add(new PoolSpace(TIERS.get(tier), body.getInt(), body.getLong(), body.getLong(), body.getLong()));
        }
        return new Room(new NodeSpace(sender, pools));
    }

    /** Empty, which no text is, when there is none whole. */
    private static String text(ByteBuffer body) {
        int length = body.hasRemaining() ? body.get() & 0xFF : 0;
        if (length > body.remaining()) {
            return "";
        }
        byte[] bytes = new byte[length];
        body.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
