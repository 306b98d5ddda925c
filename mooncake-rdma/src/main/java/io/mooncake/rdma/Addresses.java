package io.mooncake.rdma;

import io.mooncake.rdma.verbs.Gid;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/**
 * What a node tells its peers of its cards: their GIDs, each 32 hexadecimal digits, separated by commas. A hint on which card is near; where a
 * lane really goes is said when it is connected.
 */
final class Addresses {
    private static final int MAX_CARDS = 64;
    private static final int DIGITS = 2 * Gid.BYTES;

    private Addresses() {}

    static String format(byte[] gid) {
        return HexFormat.of().formatHex(gid);
    }

    /** What can be understood of it. */
    static List<byte[]> parse(String text) {
        List<byte[]> gids = new ArrayList<>();
        for (int at = 0; at + DIGITS <= text.length() && gids.size() < MAX_CARDS; at += DIGITS + 1) {
            String digits = text.substring(at, at + DIGITS);
            if (digits.chars().allMatch(HexFormat::isHexDigit)) {
                gids.add(HexFormat.of().parseHex(digits));
            }
        }
        return gids;
    }
}
