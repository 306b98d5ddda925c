package io.mooncake.core.transfer.tcp;

import io.mooncake.core.transfer.Priority;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The reads to one peer that are to be asked for. The poller's.
 *
 * <pre>
 *   LOAD        small, large        no BACKGROUND goes while a LOAD waits;
 *   BACKGROUND  small, large        of the large ones a range each, in turn
 * </pre>
 */
final class WaitingReads {
    private final List<RangesQueue> queues = List.of(new RangesQueue(), new RangesQueue(), new RangesQueue(),
            new RangesQueue());

    void add(Ranges ranges) {
        queues.get(2 * (ranges.read().priority() == Priority.LOAD ? 0 : 1) + (ranges.isSmall() ? 0 : 1)).add(ranges);
    }

    /** The one that goes next. */
    @Nullable
    Ranges peek() {
        for (int i = 0; i < queues.size(); i++) {
            Ranges first = queues.get(i).peek();
            if (first != null) {
                return first;
            }
        }
        return null;
    }

    /** Takes out the one that goes next. */
    @Nullable
    Ranges poll() {
        for (int i = 0; i < queues.size(); i++) {
            Ranges first = queues.get(i).poll();
            if (first != null) {
                return first;
            }
        }
        return null;
    }

    /** All there is, to look through. */
    List<RangesQueue> queues() {
        return queues;
    }
}
