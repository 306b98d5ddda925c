package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.EngineContext;
import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * What stands on the wire. Numbers are little-endian, names and texts are UTF-8.
 *
 * <p>Every frame begins with the same header; it and the body of REFUSED stay as they are in every version.
 *
 * <pre>
 *   0   magic        2   4D 4B ("MK")
 *   2   version      1   2
 *   3   type         1
 *   4   body length  4   bytes after the header; each type has its bounds
 *   8   cookie       8   the request's number, repeated by its answer; 0 where there is none
 *   16  incarnation  8   of the node that serves: expected by the client, its own in answers
 *   24
 * </pre>
 *
 * <pre>
 *   client to server                                        server to client
 *
 *   HELLO    0   sender's incarnation  8                    CHALLENGE  0   nonce  32
 *            8   nonce                 32
 *            40  cluster length        1                    WELCOME    0   proof  32   none without a secret
 *            41  name length           1
 *            42  wanted name length    1                    REFUSED    0   why    4    1 version, 2 cluster,
 *            43  cluster, name, wanted name                                            3 incarnation, 4 secret
 *                                                                      4   text
 *   PROOF    0   proof                 32
 *
 *   QUERY    0   region                4                    REGION   0   region     4
 *                                                                    4   known      4   0 or 1
 *                                                                    8   length     8
 *                                                                    16  key epoch  8
 *
 *   READ     0   region                4                    CHUNK    0       position  8   of the payload in the read
 *            4   guarded               4   0 or 1                    8       payload   n   1 to 1 MiB
 *            8   key epoch             8                             8 + n   guard     8   as read after the payload was;
 *            16  offset                8                                                   0 without a guard
 *            24  length                8                             16 + n  checksum  8   CRC32C of the payload where that is a
 *            32  guard offset          8                                                   unit of a block with checksums, or -1
 *            40  expected guard        8
 *                                                           END      0   status  4   see below
 *                                                                    4   text
 *
 *   PING     (no body)                                      PONG     (no body)
 *   CANCEL   (no body)
 *   MESSAGE  0   bytes
 * </pre>
 *
 * <p>A READ is answered by CHUNKs in ascending order, without gaps, until the read's length is reached or a trailer's guard differs
 * from the expected one; or by one END, which may follow some of its CHUNKs. Answers of several reads may be interleaved by chunk.
 */
final class Frames {
    static final short MAGIC = 0x4B4D;
    static final byte VERSION = 2;
    static final int HEADER_BYTES = 24;

    static final int VERSION_AT = 2;
    static final int TYPE_AT = 3;
    static final int BODY_AT = 4;
    static final int COOKIE_AT = 8;
    static final int INCARNATION_AT = 16;

    static final byte HELLO = 1;
    static final byte WELCOME = 2;
    static final byte REFUSED = 3;
    static final byte QUERY = 4;
    static final byte REGION = 5;
    static final byte READ = 6;
    static final byte CHUNK = 7;
    static final byte END = 8;
    static final byte MESSAGE = 9;
    static final byte CANCEL = 10;
    static final byte CHALLENGE = 11;
    static final byte PROOF = 12;
    static final byte PING = 13;
    static final byte PONG = 14;

    static final int NONCE_BYTES = 32;
    static final int PROOF_BYTES = 32;
    static final int HELLO_FIXED_BYTES = Long.BYTES + NONCE_BYTES + 3;
    static final int QUERY_BYTES = 4;
    static final int REGION_BYTES = 24;
    static final int READ_BYTES = 48;
    static final int CHUNK_POSITION_BYTES = 8;
    static final int TRAILER_BYTES = 16;
    static final int MAX_CLUSTER_BYTES = 200;
    static final int MAX_TEXT_BYTES = 512;
    static final int MAX_HELLO_BYTES = HEADER_BYTES + HELLO_FIXED_BYTES + MAX_CLUSTER_BYTES
            + 2 * NodeId.MAX_NAME_BYTES;

    /** CHALLENGE or WELCOME, whole. */
    static final int MAX_GREETING_ANSWER_BYTES = HEADER_BYTES + Math.max(NONCE_BYTES, PROOF_BYTES);

    /** Reads and queries that one lane may have outstanding; a client that sends more breaks the protocol. */
    static final int MAX_REQUESTS = 1 << Cookie.SLOT_BITS;

    /** {@link #REFUSED}: the node speaks another version of the protocol. */
    static final int WHY_VERSION = 1;
    /** {@link #REFUSED}: the node belongs to another cluster. */
    static final int WHY_CLUSTER = 2;
    /** {@link #REFUSED}: the node is another one, or another life, than the one asked for. */
    static final int WHY_INCARNATION = 3;
    /** {@link #REFUSED}: the cluster's secret was not proven. */
    static final int WHY_SECRET = 4;

    /** {@link #END}: the guard was proven for no bytes at all. */
    static final int DONE = 0;
    /** {@link #END}: the guard has another value. */
    static final int STALE = 1;
    /** {@link #END}: no such region for peers. */
    static final int NO_REGION = 2;
    /** {@link #END}: the range is not in the region. */
    static final int OUT_OF_BOUNDS = 3;
    /** {@link #END}: a guard is needed and missing, not allowed here, or does not stand there. */
    static final int BAD_GUARD = 4;
    /** {@link #END}: the region was registered anew. */
    static final int STALE_KEY = 5;
    /** {@link #END}: the node is another life than the one asked for. */
    static final int STALE_INCARNATION = 6;
    /** {@link #END}: the client asked for no more. */
    static final int CANCELED = 7;

    private Frames() {}

    /** Appends a header. */
    static void header(ByteBuffer out, byte type, int bodyBytes, long cookie, long incarnation) {
        out.putShort(MAGIC).put(VERSION).put(type).putInt(bodyBytes).putLong(cookie).putLong(incarnation);
    }

    /** Refuses bytes that begin no frame. */
    static void checkMagic(ByteBuffer in, int at) throws ProtocolException {
        if (in.getShort(at) != MAGIC) {
            throw new ProtocolException(
                    "the bytes begin no frame: magic " + Integer.toHexString(in.getShort(at) & 0xFFFF));
        }
    }

    /** Refuses what a side must not receive, and returns the body's length. */
    static int checkBody(ByteBuffer in, int at, boolean server) throws ProtocolException {
        byte type = in.get(at + TYPE_AT);
        int body = in.getInt(at + BODY_AT);
        if (!(server ? toServer(type, body) : toClient(type, body))) {
            throw new ProtocolException(
                    "a frame of type " + type + " with a body of " + body + " bytes is not allowed here");
        }
        return body;
    }

    private static boolean toServer(byte type, int body) {
        return switch (type) {
            case HELLO -> body >= HELLO_FIXED_BYTES && body <= MAX_HELLO_BYTES - HEADER_BYTES;
            case PROOF -> body == PROOF_BYTES;
            case QUERY -> body == QUERY_BYTES;
            case READ -> body == READ_BYTES;
            case CANCEL, PING -> body == 0;
            case MESSAGE -> body >= 0 && body <= EngineContext.MAX_MESSAGE_BYTES;
            default -> false;
        };
    }

    private static boolean toClient(byte type, int body) {
        return switch (type) {
            case CHALLENGE -> body == NONCE_BYTES;
            case WELCOME -> body == 0 || body == PROOF_BYTES;
            case REFUSED, END -> body >= Integer.BYTES && body <= Integer.BYTES + MAX_TEXT_BYTES;
            case PONG -> body == 0;
            case REGION -> body == REGION_BYTES;
            case CHUNK -> body > CHUNK_POSITION_BYTES + TRAILER_BYTES
                    && body <= CHUNK_POSITION_BYTES + TRAILER_BYTES + EngineContext.MAX_CHUNK_BYTES;
            default -> false;
        };
    }

    /** Appends REFUSED or END: a number and why, cut to what the frame may have. */
    static void text(ByteBuffer out, byte type, long cookie, long incarnation, int number, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        int length = Math.min(bytes.length, MAX_TEXT_BYTES);
        header(out, type, Integer.BYTES + length, cookie, incarnation);
        out.putInt(number).put(bytes, 0, length);
    }

    /** The text of REFUSED or END. */
    static String text(ByteBuffer in, int bodyAt, int bodyBytes) {
        return utf8(in, bodyAt + Integer.BYTES, bodyBytes - Integer.BYTES);
    }

    /** Bytes from outside as text that is safe to log. */
    static String utf8(ByteBuffer in, int at, int length) {
        byte[] bytes = new byte[length];
        in.get(at, bytes);
        return new String(bytes, StandardCharsets.UTF_8).replaceAll("\\p{Cntrl}", "?");
    }
}
