package io.mooncake.core.sim;

import io.mooncake.core.Piece;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Transfer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One transfer of a node and what is expected of it. */
final class SimTransfer {
    /** One piece, and the caller's slot that it goes to; null for a replica. */
    record Part(Piece piece, @Nullable CallerSlot slot) {}

    final long number;
    final SimNode node;
    final List<Part> parts;
    final Transfer transfer;
    private final long timeoutNs;
    private long deadlineNs;
    private int submissions;
    private int callbacks;
    private int stageSeen = -1;
    private boolean terminalSeen;
    private boolean doneSeen;
    private boolean releasedSeen;

    SimTransfer(SimNode node, long number, List<Part> parts, long timeoutNs) {
        this.node = node;
        this.number = number;
        this.parts = List.copyOf(parts);
        this.timeoutNs = timeoutNs;
        transfer = node.node.store()
                .prepare(parts.stream().map(Part::piece).toList(), TransferOptions.DEFAULT
                        .withTimeout(Duration.ofNanos(timeoutNs))
                        .withCallback(this::onDone));
    }

    private void onDone(Transfer done) {
        callbacks++;
        node.world.trace(() -> this + ": callback " + callbacks);
        if (callbacks > submissions) {
            throw node.world.found(new Violation(4, this + ": callback " + callbacks + " of " + submissions
                    + " submissions: run twice"));
        }
    }

    void submit() {
        for (Part part : parts) {
            if (part.slot != null) {
                part.slot.handTo(this);
            }
        }
        submissions++;
        stageSeen = -1;
        terminalSeen = false;
        doneSeen = false;
        releasedSeen = false;
        node.world.trace(() -> this + ": submission " + submissions + " of " + parts.size() + " pieces, "
                + timeoutNs + " ns: " + parts.stream().map(part -> node.world.describe(part.piece)).toList());
        node.world.tally.hit(submissions == 1 ? "transfer CREATED -> QUEUED" : "use resubmit");
        transfer.submit();
        // Not before: it has read the clock in between.
        deadlineNs = node.now() + timeoutNs;
        if (transfer.state().ordinal() >= Transfer.State.POSTED.ordinal()) {
            node.world.tally.hit("transfer QUEUED -> POSTED");
        }
    }

    /** After something was done in the node: what became of it. True when nothing more can become of it but a callback. */
    boolean observe() {
        Transfer.State state = transfer.state();
        if (state.isTerminal() && !terminalSeen) {
            terminalSeen = true;
            node.world.tally.hit("transfer -> " + state);
        }
        if (!state.isTerminal()) {
            checkStages();
        }
        if (transfer.isDone() && !doneSeen) {
            doneSeen = true;
            checkOutcomes();
        }
        if (transfer.isReleased() && !releasedSeen) {
            releasedSeen = true;
            node.world.tally.hit("transfer -> released");
        }
        return doneSeen && releasedSeen;
    }

    boolean isDone() {
        return transfer.isDone();
    }

    /** A duty cycle that began at that time has ended. */
    void checkDeadline(long dutyBeganNs) {
        if (!terminalSeen && dutyBeganNs - deadlineNs > 0) {
            throw new Violation(4, this + " is " + transfer.state() + " " + (dutyBeganNs - deadlineNs)
                    + " ns after its deadline");
        }
    }

    void checkCallbacks() {
        if (callbacks != submissions) {
            throw new Violation(4, this + ": " + callbacks + " callbacks of " + submissions + " submissions");
        }
    }

    private void checkStages() {
        int stage = transfer.stage();
        if (stage <= stageSeen) {
            return;
        }
        stageSeen = stage;
        node.world.tally.hit("use stages");
        for (int i = 0; i < parts.size(); i++) {
            if (parts.get(i).piece.stage() <= stage) {
                checkBytes(parts.get(i), "stage " + stage + " was reported, but");
            }
        }
    }

    private void checkOutcomes() {
        List<Outcome> outcomes = new ArrayList<>();
        for (int i = 0; i < parts.size(); i++) {
            Outcome outcome = transfer.outcome(i);
            outcomes.add(outcome);
            node.world.tally.hit("piece " + outcome);
            MooncakeException cause = transfer.cause(i);
            if (cause != null) {
                node.world.tally.hit("cause " + cause.kind());
            }
            if (outcome == Outcome.OK) {
                checkBytes(parts.get(i), "OK, but");
            } else if (outcome == Outcome.PENDING) {
                throw new Violation(4, this + " is done, but piece " + i + " is pending");
            }
        }
        node.world.trace(() -> this + ": " + transfer + " " + outcomes);
        boolean allOk = outcomes.stream().allMatch(outcome -> outcome == Outcome.OK);
        if (allOk != (transfer.state() == Transfer.State.COMPLETED)) {
            if (transfer.state() == Transfer.State.COMPLETED) {
                throw new Violation(8, this + " is COMPLETED with " + outcomes);
            }
        }
        for (Part part : parts) {
            if (part.slot != null) {
                part.slot.handBack();
            }
        }
    }

    private void checkBytes(Part part, String what) {
        CallerSlot slot = part.slot;
        if (slot == null) {
            checkReplica(part);
            return;
        }
        Piece piece = part.piece;
        Content content = node.world.content;
        if (piece.ref() != null) {
            Content.Write write = content.find(piece.id(), piece.ref().version());
            if (write != null && slot.holds(piece, write)) {
                return;
            }
        } else {
            for (Content.Write write : content.all(piece.id())) {
                if (slot.holds(piece, write)) {
                    return;
                }
            }
        }
        throw new Violation(1, this + ": " + what + " the bytes of " + node.world.describe(piece)
                + " are not those of any version asked for");
    }

    private void checkReplica(Part part) {
        if (node.isClosed()) {
            return;
        }
        try (BlockView view = node.node.store().newView()) {
            if (node.node.store().acquire(part.piece.id(), view)) {
                node.checkView(view);
            }
        }
    }

    @Override
    public String toString() {
        return "transfer " + number + " of " + node.id;
    }
}
