package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.NodeId;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The few lanes with traffic that are polled without asking the selector. The poller's. */
final class HotLanes {
    private static final int MAX = 4;
    private static final int COOL_AFTER_IDLE_POLLS = 256;

    private final Lane[] lanes = new Lane[MAX];
    private int size;
    private boolean mixed;

    /** Whether they are of more than one peer. */
    boolean areMixed() {
        return mixed;
    }

    /** Whether one of them is of another peer. */
    boolean hasOtherThan(@Nullable NodeId peer) {
        return size > 0 && !Objects.equals(lanes[0].peer(), peer);
    }

    int size() {
        return size;
    }

    Lane get(int index) {
        return lanes[index];
    }

    /** Takes a lane that has traffic; false when there is no room. */
    boolean add(Lane lane) {
        if (size == MAX || !lane.isOpen()) {
            return false;
        }
        lane.hot = true;
        lane.idlePolls = 0;
        lanes[size++] = lane;
        compare();
        return true;
    }

    /** After a poll: leaves a lane that had nothing for long to the selector. */
    void onPolled(Lane lane, boolean worked) {
        if (worked) {
            lane.idlePolls = 0;
        } else if (!lane.lost && ++lane.idlePolls > COOL_AFTER_IDLE_POLLS) {
            remove(lane);
            lane.updateInterest();
        }
    }

    private void compare() {
        mixed = false;
        for (int i = 1; i < size; i++) {
            mixed |= !Objects.equals(lanes[0].peer(), lanes[i].peer());
        }
    }

    void remove(Lane lane) {
        for (int i = 0; i < size; i++) {
            if (lanes[i].equals(lane)) {
                lanes[i] = lanes[--size];
                lane.hot = false;
                compare();
                return;
            }
        }
    }
}
