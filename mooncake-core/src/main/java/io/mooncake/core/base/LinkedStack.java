package io.mooncake.core.base;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * What is handed over and cannot be refused: linked through itself, so that pushing allocates nothing. Pushing is for any thread, so is
 * taking, which takes all there is, oldest first.
 *
 * <p>Whoever pushes makes sure that a link is in one stack at a time, once.
 *
 * @param <T> what is linked
 */
public final class LinkedStack<T> {
    private final AtomicReference<@Nullable Link<T>> newest = new AtomicReference<>();

    /** Nothing was pushed. */
    public LinkedStack() {}

    /**
     * What stands in a stack for its owner.
     *
     * @param <T> the owner's type
     */
    public static final class Link<T> {
        private final T owner;
        private @Nullable Link<T> next;

        /**
         * A link that is in no stack.
         *
         * @param owner whose
         */
        public Link(T owner) {
            this.owner = owner;
        }

        /**
         * Whose it is.
         *
         * @return as constructed
         */
        public T owner() {
            return owner;
        }

        /**
         * For whoever took it: unlinks it, so that it may be pushed again.
         *
         * @return the next younger one that was taken with it, or null
         */
        public @Nullable Link<T> unlink() {
            Link<T> after = next;
            next = null;
            return after;
        }
    }

    /**
     * Hands over.
     *
     * @param link in no stack
     */
    public void push(Link<T> link) {
        Link<T> head = newest.get();
        for (;;) {
            link.next = head;
            Link<T> seen = newest.compareAndExchange(head, link);
            if (seen == head) {
                return;
            }
            head = seen;
        }
    }

    /**
     * Whether nothing is there to be taken.
     *
     * @return as of now
     */
    public boolean isEmpty() {
        return newest.get() == null;
    }

    /**
     * Takes all that was pushed.
     *
     * @return the oldest, the others by {@link Link#unlink}; null when there is nothing
     */
    public @Nullable Link<T> takeAll() {
        Link<T> oldest = null;
        for (Link<T> link = newest.getAndSet(null); link != null;) {
            Link<T> next = link.next;
            link.next = oldest;
            oldest = link;
            link = next;
        }
        return oldest;
    }
}
