package io.mooncake.core.transfer.onesided;

import org.jspecify.annotations.Nullable;

/** A bounded number of {@link Slot slots} for one kind of request. Makes a slot the first time that it is needed. The poller's. */
final class RequestSlots {
    private final int op;
    private final Rules rules;
    private final @Nullable Slot[] slots;
    private @Nullable Slot free;
    private int made;
    private int used;
    private long lastGeneration;

    RequestSlots(int op, int capacity, Rules rules) {
        this.op = op;
        this.rules = rules;
        slots = new Slot[capacity];
    }

    boolean isFull() {
        return used == slots.length;
    }

    int used() {
        return used;
    }

    /** A slot for a read; not to be called when full. */
    Slot take(ReadProgress read) {
        Slot slot = free;
        if (slot == null) {
            slot = new Slot(made);
            slots[made++] = slot;
        } else {
            free = slot.next;
        }
        used++;
        slot.next = null;
        slot.read = read;
        slot.tries = 0;
        slot.state = Slot.State.WAITING;
        return slot;
    }

    void free(Slot slot) {
        slot.state = Slot.State.FREE;
        slot.read = null;
        slot.lane = null;
        slot.next = free;
        free = slot;
        used--;
    }

    /** A cookie for the slot's next post. */
    long newCookie(Slot slot) {
        slot.cookie = Cookies.of(++lastGeneration, slot.number, op);
        return slot.cookie;
    }

    /** The posted request that a completion belongs to; null for one of an earlier post, and the second time. */
    @Nullable
    Slot posted(long cookie) {
        int number = Cookies.slot(cookie);
        Slot slot = number < made ? slots[number] : null;
        return slot != null && slot.state == Slot.State.POSTED && rules.isCurrent(cookie, slot.cookie) ? slot : null;
    }

    /** How far {@link #at} goes. */
    int made() {
        return made;
    }

    /** A slot below {@link #made()}. */
    Slot at(int number) {
        Slot slot = slots[number];
        if (slot == null) {
            throw new IndexOutOfBoundsException(number);
        }
        return slot;
    }
}
