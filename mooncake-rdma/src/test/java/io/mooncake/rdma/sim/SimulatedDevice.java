package io.mooncake.rdma.sim;

import io.mooncake.rdma.verbs.ffi.Verbs;
import java.util.ArrayList;
import java.util.List;

/** One network card with one port, and what goes wrong with it. */
public final class SimulatedDevice {
    /** One entry of the port's table of addresses. */
    @SuppressWarnings("ArrayRecordComponent") // Never compared.
    public record GidEntry(byte[] gid, int type) {}

    private final SimulatedProvider host;
    private final String name;
    private final List<GidEntry> gids = new ArrayList<>();
    private final List<SimulatedContext> contexts = new ArrayList<>();
    private boolean portActive = true;
    private boolean fatal;
    private int registrationError;
    private int registrationsLeft = Integer.MAX_VALUE;
    private long largestRegistration = Long.MAX_VALUE;
    private int nextStatus;
    private int postsRefused;
    private int doorbellsFailing;
    private boolean queuesDead;
    private boolean dmaBufs;
    private String numaNode = "0";
    private boolean writesDoubled;
    private int lid;
    private int largestQueue = SimulatedProvider.LIMIT;
    private int destroysRefused;
    private int resetsRefused;
    private int deregistrationsRefused;
    private boolean refusingWhenDead;

    SimulatedDevice(SimulatedProvider host, String name, int ipv4) {
        this.host = host;
        this.name = name;
        gids.add(new GidEntry(linkLocal(ipv4), Verbs.IBV_GID_TYPE_ROCE_V1()));
        gids.add(new GidEntry(linkLocal(ipv4), Verbs.IBV_GID_TYPE_ROCE_V2()));
        gids.add(new GidEntry(mapped(ipv4), Verbs.IBV_GID_TYPE_ROCE_V1()));
        gids.add(new GidEntry(mapped(ipv4), Verbs.IBV_GID_TYPE_ROCE_V2()));
    }

    private static byte[] mapped(int ipv4) {
        byte[] gid = new byte[16];
        gid[10] = -1;
        gid[11] = -1;
        putLast(gid, ipv4);
        return gid;
    }

    private static byte[] linkLocal(int ipv4) {
        byte[] gid = new byte[16];
        gid[0] = (byte) 0xFE;
        gid[1] = (byte) 0x80;
        putLast(gid, ipv4);
        return gid;
    }

    private static void putLast(byte[] gid, int ipv4) {
        for (int i = 0; i < 4; i++) {
            gid[12 + i] = (byte) (ipv4 >>> (24 - 8 * i));
        }
    }

    /** What the kernel says of its NUMA node: a number, or nothing. */
    public void numaNode(String text) {
        numaNode = text;
    }

    String numaNode() {
        return numaNode;
    }

    /** Its name. */
    public String name() {
        return name;
    }

    /** The link goes down: requests fail, every open context is told. */
    public void portDown() {
        portActive = false;
        event(Verbs.IBV_EVENT_PORT_ERR());
    }

    /** The link is up again. */
    public void portUp() {
        portActive = true;
        event(Verbs.IBV_EVENT_PORT_ACTIVE());
    }

    /** The card fails: nothing completes any more and nothing is made, until it is opened anew. */
    public void fail() {
        fatal = true;
        event(Verbs.IBV_EVENT_DEVICE_FATAL());
        contexts.forEach(SimulatedContext::die);
    }

    /** The card was reset: it may be opened again. */
    public void recover() {
        fatal = false;
    }

    /** Its addresses are others from now on. */
    public void changeAddress(int ipv4) {
        gids.set(2, new GidEntry(mapped(ipv4), Verbs.IBV_GID_TYPE_ROCE_V1()));
        gids.set(3, new GidEntry(mapped(ipv4), Verbs.IBV_GID_TYPE_ROCE_V2()));
        event(Verbs.IBV_EVENT_GID_CHANGE());
    }

    /** The subnet manager gives its port another number. */
    public void changeLid(int newLid) {
        lid = newLid;
        event(Verbs.IBV_EVENT_LID_CHANGE());
    }

    int lid() {
        return lid;
    }

    /** Entries of one completion queue at most. */
    public void largestQueue(int entries) {
        largestQueue = entries;
    }

    int largestQueue() {
        return largestQueue;
    }

    /** The next queue pairs are not destroyed when they are to be. */
    public void refuseDestroys(int queuePairs) {
        destroysRefused = queuePairs;
    }

    boolean takeRefusedDestroy() {
        return destroysRefused > 0 && destroysRefused-- > 0;
    }

    /** The next queue pairs are not reset when they are to be. */
    public void refuseResets(int queuePairs) {
        resetsRefused = queuePairs;
    }

    boolean takeRefusedReset() {
        return resetsRefused > 0 && resetsRefused-- > 0;
    }

    /** The next registrations are not taken back when they are to be. */
    public void refuseDeregistrations(int registrations) {
        deregistrationsRefused = registrations;
    }

    boolean takeRefusedDeregistration() {
        return deregistrationsRefused > 0 && deregistrationsRefused-- > 0;
    }

    /** Once lost it takes nothing back: what was made on it stays until the process ends. */
    public void refuseWhenDead() {
        refusingWhenDead = true;
    }

    boolean isRefusingWhenDead() {
        return refusingWhenDead;
    }

    /** Each of its connected queue pairs has a completion in the queue that a former one of its number left there. */
    public void leaveCompletions(long cookie, int status) {
        host.network().queuePairsOf(this).forEach(queuePair -> queuePair.leaveCompletion(cookie, status));
    }

    /** From now on so many registrations succeed, the others fail with an errno. */
    public void failRegistrations(int afterwards, int errno) {
        registrationsLeft = afterwards;
        registrationError = errno;
    }

    /** Bytes of one registration at most. */
    public void largestRegistration(long bytes) {
        largestRegistration = bytes;
    }

    /** The next request that this card is given ends with a status of {@code ibv_wc_status}. */
    public void failNext(int status) {
        nextStatus = status;
    }

    /** The next requests are not taken, as by a driver without memory. */
    public void refusePosts(int requests) {
        postsRefused = requests;
    }

    /** From now on it can be told of other devices' memory, whose addresses are this process's own here. */
    public void takeDmaBufs() {
        dmaBufs = true;
    }

    boolean takesDmaBufs() {
        return dmaBufs;
    }

    /** From now on what it writes into a peer's memory arrives a second time, within a millisecond: packets that were on another way. */
    public void doubleWrites() {
        writesDoubled = true;
    }

    boolean doublesWrites() {
        return writesDoubled;
    }

    /** The next batches are queued and never begun, and the post of each says that it failed. */
    public void failDoorbells(int batches) {
        doorbellsFailing = batches;
    }

    boolean takeFailedDoorbell() {
        return doorbellsFailing > 0 && doorbellsFailing-- > 0;
    }

    boolean takeRefusal() {
        return postsRefused > 0 && postsRefused-- > 0;
    }

    /** Its completion queues cannot be polled any more, until it is opened anew. */
    public void breakQueues() {
        queuesDead = true;
    }

    boolean areQueuesDead() {
        return queuesDead;
    }

    void onOpened() {
        queuesDead = false;
    }

    /** What {@link #failNext} asked for, once. */
    int takeNextStatus() {
        int status = nextStatus;
        nextStatus = 0;
        return status;
    }

    /** Memory that is registered with it now. */
    public int registered() {
        return contexts.stream().mapToInt(SimulatedContext::registered).sum();
    }

    /** Most completions that stood in one of its queues at once, of a hundred that fit. */
    public int highestOccupancyPercent() {
        return contexts.stream().mapToInt(SimulatedContext::highestOccupancyPercent).max().orElse(0);
    }

    long largestRegistration() {
        return largestRegistration;
    }

    /** The errno with which the next registration fails; 0 when it succeeds. */
    int nextRegistration() {
        if (registrationsLeft == 0) {
            return registrationError;
        }
        registrationsLeft--;
        return 0;
    }

    private void event(int type) {
        contexts.forEach(context -> context.event(type, 1));
    }

    SimulatedProvider host() {
        return host;
    }

    List<GidEntry> gids() {
        return gids;
    }

    List<SimulatedContext> contexts() {
        return contexts;
    }

    boolean isPortActive() {
        return portActive && !fatal;
    }

    boolean isFatal() {
        return fatal;
    }
}
