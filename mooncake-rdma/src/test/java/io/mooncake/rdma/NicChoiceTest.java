package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.mooncake.rdma.NicChoice.Candidate;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which card a lane uses. */
final class NicChoiceTest {
    private static final byte[] A1 = ipv4("0a010001");
    private static final byte[] A2 = ipv4("0a010002");
    private static final byte[] B1 = ipv4("0a020001");
    private static final byte[] B2 = ipv4("0a020002");

    private static byte[] ipv4(String hex) {
        return HexFormat.of().parseHex("00000000000000000000ffff" + hex);
    }

    @Test
    void shouldTakeTheOneOnThePeersSubnetHoweverManyLanesItHas() {
        List<Candidate> cards = List.of(new Candidate(A1, false, 0), new Candidate(B1, false, 9));
        assertEquals(1, NicChoice.choose(cards, List.of(B2)));
        assertEquals(0, NicChoice.choose(cards, List.of(A2)));
    }

    @Test
    void shouldTakeTheOneWithTheFewestLanesOfSeveral() {
        List<Candidate> cards = List.of(new Candidate(A1, false, 2), new Candidate(B1, false, 1),
                new Candidate(B2, false, 1));
        assertEquals(1, NicChoice.choose(cards, List.of(A2, B2)));
        assertEquals(1, NicChoice.choose(cards, List.of()));
        assertEquals(-1, NicChoice.choose(List.of(), List.of(A2)));
    }

    @Test
    void shouldTakeTheOneBesideTheMemoryOfThoseOnThePeersSubnet() {
        List<Candidate> cards = List.of(new Candidate(A1, false, 0), new Candidate(A2, true, 7),
                new Candidate(A2, true, 6), new Candidate(B1, true, 0));
        assertEquals(2, NicChoice.choose(cards, List.of(A1)));
        assertEquals(3, NicChoice.choose(cards, List.of()));
        assertEquals(0, NicChoice.choose(cards.subList(0, 1), List.of(B2)), "none beside it is left");
    }

    @Test
    void shouldCompareIpv6ByItsSubnet() {
        byte[] near = HexFormat.of().parseHex("20010db8000000010000000000000001");
        byte[] far = HexFormat.of().parseHex("20010db8000000020000000000000001");
        byte[] peer = HexFormat.of().parseHex("20010db80000000100000000000000ff");
        assertEquals(1,
                NicChoice.choose(List.of(new Candidate(far, false, 0), new Candidate(near, false, 5)), List.of(peer)));
    }

    @Test
    void shouldReadTheAddressesThatItWroteAndTakeNoHarmFromOthers() {
        String text = Addresses.format(A1) + "," + Addresses.format(B1);
        List<byte[]> read = Addresses.parse(text);
        assertEquals(2, read.size());
        assertArrayEquals(B1, read.getLast());
        assertEquals(0, Addresses.parse("").size());
        assertEquals(0, Addresses.parse("zz" + "0".repeat(30)).size());
        assertEquals(1, Addresses.parse(text.substring(0, 50)).size());
    }
}
