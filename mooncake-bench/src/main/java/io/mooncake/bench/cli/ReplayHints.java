package io.mooncake.bench.cli;

import io.mooncake.bench.cli.Cluster.Member;
import io.mooncake.bench.cli.Trace.Request;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.NextUse;
import io.mooncake.core.schedule.LookAhead;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;
import java.util.stream.IntStream;

/**
 * Tells the nodes of a replay what the requests that are queued will use: each request is queued so many requests before it is served. One
 * thread.
 *
 * <p>Hints are given in times, of which only the order matters here: each request has a second of its own, far more than it takes.
 */
final class ReplayHints {
    private final List<Member> members;
    private final List<Request> requests;
    private final LongFunction<BlockId> ids;
    private final long ahead;
    private final boolean all;
    private final LookAhead queue = new LookAhead();
    private final long startNs;
    private int queued;

    /**
     * Before the first request.
     *
     * @param members who is told
     * @param trace what will be asked for
     * @param ids the names of its blocks
     * @param ahead requests that are queued; {@link ReplayOptions#ALL} = all there are, and what none of them uses is used no more
     */
    ReplayHints(List<Member> members, Trace trace, LongFunction<BlockId> ids, int ahead) {
        this.members = members;
        requests = trace.requests();
        this.ids = ids;
        all = ahead == ReplayOptions.ALL;
        this.ahead = all ? requests.size() : ahead;
        startNs = System.nanoTime();
    }

    /**
     * A request is about to be served.
     *
     * @param number which
     * @param blocks its blocks
     */
    void serving(int number, List<BlockId> blocks) {
        for (; queued < requests.size() && queued <= number + ahead; queued++) {
            List<BlockId> coming = blocks(requests.get(queued));
            queue.queued(coming, whenNs(queued));
            // With all of them queued before the first is served, each block is told when it is used.
            if (!all && queued > number) {
                tell(coming);
            }
        }
        queue.left(blocks, whenNs(number));
        tell(blocks);
    }

    private List<BlockId> blocks(Request request) {
        return IntStream.range(0, request.blocks())
                .mapToObj(i -> ids.apply(request.hashId(i)))
                .toList();
    }

    private long whenNs(int number) {
        return startNs + TimeUnit.SECONDS.toNanos(1 + (long) number);
    }

    private void tell(List<BlockId> blocks) {
        long[] nextUses = queue.nextUses(blocks);
        for (int i = 0; all && i < nextUses.length; i++) {
            nextUses[i] = nextUses[i] == NextUse.UNKNOWN ? NextUse.NEVER : nextUses[i];
        }
        for (Member member : members) {
            member.node().store().hint(blocks, nextUses);
        }
    }
}
