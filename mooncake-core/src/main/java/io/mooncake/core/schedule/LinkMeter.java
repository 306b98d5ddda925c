package io.mooncake.core.schedule;

import io.mooncake.core.schedule.ActivationPlan.Link;

/**
 * Measures one way out of the fast memory, or back, by the moves that go it, and says how many are to be on their way at a time. One thread.
 *
 * <pre>
 *   moves     a |=========|
 *              b |=============|
 *               c |================|          held        the shortest time of one / what each takes: what the way has room for
 *   each                  |--b--|c-|          each        the time between two ends, where something was on its way all the time
 * </pre>
 *
 * <p>A round ends when nothing is on its way any more, or as many have ended as ever were. As long as the rate grows with what is on its way, that is
 * twice what is held; then it is one more than that, which keeps the way busy, and shows when it has become faster. A round in which fewer were on
 * their way than may be, or one alone, tells that the rate is lower only where all of them were late.
 */
public final class LinkMeter {
    /** Before anything is measured: what has to leave at all begins to at once. */
    private static final Link UNKNOWN = new Link(1e-9, 0, 8);
    private static final int MAX_WINDOW = 256;
    private static final int LATE = 2;
    /** So much higher is higher, and lower by as much is another way. */
    private static final double CLEARLY = 1.25;

    private int outstanding;
    private int peak;
    private long lastEndNs = Long.MIN_VALUE;
    /** In this round: ends after another one, and the time between; and the shortest time of a move. */
    private int ends;
    private double betweenNs;
    private double shortestInRoundNs = Double.MAX_VALUE;

    private double shortestNs = Double.MAX_VALUE;
    /** 0 = not known yet. */
    private double eachNs;
    private boolean grows = true;

    /** Nothing is known. */
    public LinkMeter() {}

    /** A move was begun. */
    public void begun() {
        outstanding++;
        peak = Math.max(peak, outstanding);
    }

    /**
     * A move has ended.
     *
     * @param beganNs when it was begun
     * @param nowNs on the same clock
     */
    public void ended(long beganNs, long nowNs) {
        if (lastEndNs != Long.MIN_VALUE && lastEndNs - beganNs >= 0) {
            betweenNs += nowNs - lastEndNs;
            ends++;
        }
        lastEndNs = nowNs;
        outstanding--;
        shortestInRoundNs = Math.min(shortestInRoundNs, Math.max(1, (double) (nowNs - beganNs)));
        shortestNs = Math.min(shortestNs, shortestInRoundNs);
        if (outstanding == 0 || ends >= peak) {
            endRound();
        }
    }

    private void endRound() {
        double nowEachNs = ends == 0 ? shortestInRoundNs : Math.max(1, betweenNs / ends);
        boolean full = ends > 0 && peak >= window();
        boolean late = shortestInRoundNs > LATE * (held() + peak) * eachNs;
        grows = grows && (!full || eachNs == 0 || nowEachNs * CLEARLY <= eachNs);
        if ((full || late) && eachNs > 0 && nowEachNs >= eachNs * CLEARLY) {
            shortestNs = shortestInRoundNs;
            grows = true;
        }
        if (eachNs == 0 || nowEachNs < eachNs || full || late) {
            eachNs = nowEachNs;
        }
        ends = 0;
        betweenNs = 0;
        peak = outstanding;
        shortestInRoundNs = Double.MAX_VALUE;
    }

    /** Blocks that the way has room for, as far as it is known. */
    private double held() {
        return eachNs == 0 ? 0 : shortestNs / eachNs;
    }

    private int window() {
        int held = (int) Math.min(MAX_WINDOW, Math.ceil(held()));
        return grows ? Math.clamp(2L * held, UNKNOWN.window(), MAX_WINDOW) : Math.min(held + 1, MAX_WINDOW);
    }

    /**
     * The way as it is known now.
     *
     * @param stepNs how long a step takes
     * @return for {@link ActivationPlan}
     */
    public Link link(double stepNs) {
        return eachNs == 0
                ? UNKNOWN
                : new Link(stepNs / eachNs, Math.max(0, shortestNs - eachNs) / stepNs, window());
    }
}
