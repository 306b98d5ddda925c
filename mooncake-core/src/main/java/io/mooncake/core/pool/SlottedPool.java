package io.mooncake.core.pool;

import org.jspecify.annotations.Nullable;

/** A pool whose slots are looked after by a {@link Book}, wherever its memory is: only that, its guards and its end are the pool's own. */
public abstract class SlottedPool implements BlockPool {
    /** For pools here and in other modules. */
    protected SlottedPool() {}

    /**
     * Who has the slots.
     *
     * @return the same one always
     */
    protected abstract Book book();

    @Override
    public int slots() {
        return book().slots();
    }

    @Override
    public long offset(int slot) {
        return book().offset(slot);
    }

    @Override
    public long slotBytes(int slot) {
        return book().slotBytes(slot);
    }

    @Override
    public long largestSlotBytes() {
        return book().largestSlotBytes();
    }

    @Override
    public int reserve(long length) {
        return book().reserve(length);
    }

    @Override
    public void release(int slot) {
        book().release(slot);
    }

    @Override
    public void quarantine(int slot) {
        book().quarantine(slot);
    }

    @Override
    public Usage usage() {
        return book().usage();
    }

    @Override
    public @Nullable RangeBook ranges() {
        return book() instanceof RangeBook ranges ? ranges : null;
    }

    /** For messages. */
    @Override
    public String toString() {
        return book().toString();
    }
}
