package io.mooncake.rdma.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Case C94: which GID of a port is used. */
class GidChoiceTest {

    private static Gid gid(int index, String address, Gid.Type type) {
        byte[] raw = new byte[Gid.BYTES];
        try {
            byte[] bytes = InetAddress.getByName(address).getAddress();
            System.arraycopy(bytes, 0, raw, Gid.BYTES - bytes.length, bytes.length);
            if (bytes.length == 4) {
                raw[10] = -1;
                raw[11] = -1;
            }
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(address, e);
        }
        return new Gid(index, raw, type, 2);
    }

    private static final List<Gid> ETHERNET = List.of(gid(0, "fe80::1", Gid.Type.ROCE_V1),
            gid(1, "fe80::1", Gid.Type.ROCE_V2), gid(2, "10.0.0.7", Gid.Type.ROCE_V1),
            gid(3, "169.254.3.4", Gid.Type.ROCE_V2), gid(4, "2001:db8::7", Gid.Type.ROCE_V2),
            gid(5, "10.0.0.7", Gid.Type.ROCE_V2), gid(6, "10.0.1.7", Gid.Type.ROCE_V2));

    private static int chosen(List<Gid> table, @Nullable String wanted) {
        return GidChoice.of(table, wanted).map(choice -> choice.gid().index()).orElse(-1);
    }

    @Test
    void shouldTakeTheRoutableIpv4OfVersion2WhateverTheOrder() {
        assertEquals(5, chosen(ETHERNET, null));
        List<Gid> shuffled = new ArrayList<>(ETHERNET);
        for (int seed = 0; seed < 20; seed++) {
            Collections.shuffle(shuffled, new Random(seed));
            assertEquals(5, chosen(shuffled, null));
        }
    }

    /** Case C94, its tables. */
    @Test
    void shouldNeverTakeALinkLocalEntryBeforeARoutableOne() {
        List<Gid> usual = List.of(gid(0, "fe80::1", Gid.Type.ROCE_V1), gid(1, "fe80::1", Gid.Type.ROCE_V2),
                gid(2, "10.1.2.3", Gid.Type.ROCE_V1), gid(3, "10.1.2.3", Gid.Type.ROCE_V2));
        assertEquals(3, chosen(usual, null));
        assertEquals(1,
                chosen(List.of(gid(0, "fe80::1", Gid.Type.ROCE_V2), gid(1, "fd93::1", Gid.Type.ROCE_V2)), null));
        assertEquals(3, chosen(usual, "3"));
        assertEquals(-1, chosen(usual, "9"));
    }

    @Test
    void shouldTakeTheNextBestOneAfterAnother() {
        List<Gid> table = new ArrayList<>(ETHERNET);
        List<Integer> order = new ArrayList<>();
        while (!table.isEmpty()) {
            int index = chosen(table, null);
            order.add(index);
            table.removeIf(gid -> gid.index() == index);
        }
        assertEquals(List.of(5, 6, 4, 3, 1, 2, 0), order);
        assertEquals(-1, chosen(List.of(), null));
    }

    @Test
    void shouldTakeWhatIsAskedForByIndexOrAddress() {
        assertEquals(1, chosen(ETHERNET, "1"));
        assertEquals(6, chosen(ETHERNET, "10.0.1.7"));
        assertEquals(5, chosen(ETHERNET, "10.0.0.7"), "of two with one address the better");
        assertEquals(-1, chosen(ETHERNET, "10.0.0.8"));
        assertEquals(-1, chosen(ETHERNET, "7"));
    }

    /** Addresses of version 6 have several forms: the short one, and the long one that the kernel and ibv_devinfo show. */
    @Test
    void shouldTakeAnAddressInEveryForm() {
        assertEquals(4, chosen(ETHERNET, "2001:db8::7"));
        assertEquals(4, chosen(ETHERNET, "2001:0DB8:0000:0000:0000:0000:0000:0007"));
        assertEquals(1, chosen(ETHERNET, "fe80::1"));
        assertEquals(6, chosen(ETHERNET, "::ffff:10.0.1.7"));
        assertEquals(6, chosen(ETHERNET, "0000:0000:0000:0000:0000:ffff:0a00:0107"));
        assertEquals(-1, chosen(ETHERNET, "2001:db8::8"));
        assertEquals(-1, chosen(ETHERNET, "localhost"));
        assertEquals(-1, chosen(ETHERNET, ""));
    }

    @Test
    void shouldSayWhy() {
        assertEquals("RoCE version 2, IPv4", GidChoice.of(ETHERNET, null).orElseThrow().reason());
        assertTrue(GidChoice.of(ETHERNET.subList(0, 2), null).orElseThrow().reason().contains("link-local"));
        assertTrue(GidChoice.of(ETHERNET.subList(2, 3), null).orElseThrow().reason().contains("not routable"));
        assertTrue(GidChoice.of(ETHERNET, "2").orElseThrow().reason().contains("asked for"));
    }

    @Test
    void shouldKnowScopes() {
        assertTrue(ETHERNET.get(3).isLinkLocal() && ETHERNET.get(3).isIpv4());
        assertTrue(ETHERNET.get(0).isLinkLocal() && !ETHERNET.get(0).isIpv4());
        assertTrue(!ETHERNET.get(4).isLinkLocal() && !ETHERNET.get(5).isLinkLocal());
        assertTrue(gid(0, "::", Gid.Type.INFINIBAND).isZero());
    }
}
