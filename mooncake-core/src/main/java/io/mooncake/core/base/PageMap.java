package io.mooncake.core.base;

import io.mooncake.core.base.MooncakeException.Kind;
import java.util.Arrays;

/**
 * Scattered pages of one region, as a paged KV cache has them: bytes {@code [i * pageBytes, (i + 1) * pageBytes)} of what
 * is moved belong to page {@code pages[i]}, which stands at {@code base + pages[i] * pageStride}. Immutable; the array is copied.
 *
 * <p>Pages that follow each other in the map and in memory ({@code pageStride == pageBytes}) are one run: a transfer sees runs only.
 */
public final class PageMap {
    private final long base;
    private final long pageBytes;
    private final long pageStride;
    private final int[] pages;
    private final long highest;

    /**
     * Describes pages.
     *
     * @param base offset in the region of page 0
     * @param pageBytes bytes of one page that are used
     * @param pageStride bytes from one page's start to the next one's, at least pageBytes
     * @param pages page numbers in the order of the moved bytes
     * @throws MooncakeException INVALID_ARGUMENT for negative numbers, overlapping strides, repeated pages or an end beyond 2^63
     */
    public PageMap(long base, long pageBytes, long pageStride, int[] pages) {
        if (base < 0 || pageBytes <= 0 || pageStride < pageBytes) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    "page map: base " + base + " must not be negative, page bytes "
                            + pageBytes + " must be positive, stride " + pageStride + " at least the page bytes");
        }
        int[] sorted = pages.clone();
        Arrays.sort(sorted);
        for (int i = 0; i < sorted.length; i++) {
            if (sorted[i] < 0 || (i > 0 && sorted[i] == sorted[i - 1])) {
                throw new MooncakeException(Kind.INVALID_ARGUMENT,
                        "page map: page " + sorted[i] + " is negative or stands there twice");
            }
        }
        try {
            int last = sorted.length == 0 ? 0 : sorted[sorted.length - 1];
            highest = Math.addExact(Math.addExact(base, Math.multiplyExact(last, pageStride)), pageBytes);
            Math.multiplyExact(sorted.length, pageBytes);
        } catch (ArithmeticException e) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    "page map: base " + base + ", stride " + pageStride + " and pages reach beyond 2^63", e);
        }
        this.base = base;
        this.pageBytes = pageBytes;
        this.pageStride = pageStride;
        this.pages = pages.clone();
    }

    /**
     * Bytes that the map has room for.
     *
     * @return pages times page bytes
     */
    public long length() {
        return pages.length * pageBytes;
    }

    /**
     * One past the highest byte that the map names, to be checked against the region.
     *
     * @return an offset in the region
     */
    public long end() {
        return highest;
    }

    /**
     * Where a moved byte goes.
     *
     * @param position 0 to {@link #length()} - 1
     * @return its offset in the region
     */
    public long offsetAt(long position) {
        int page = (int) (position / pageBytes);
        return base + pages[page] * pageStride + position % pageBytes;
    }

    /**
     * How many moved bytes from a position on stand in one piece.
     *
     * @param position 0 to {@link #length()} - 1
     * @param limit where to stop looking
     * @return bytes, at most limit
     */
    public long runAt(long position, long limit) {
        int page = (int) (position / pageBytes);
        long run = pageBytes - position % pageBytes;
        while (run < limit && page + 1 < pages.length && pageStride == pageBytes
                && pages[page + 1] == pages[page] + 1) {
            run += pageBytes;
            page++;
        }
        return Math.min(run, limit);
    }

    @Override
    public String toString() {
        return "PageMap[base=" + base + ", pageBytes=" + pageBytes + ", pageStride=" + pageStride + ", pages="
                + pages.length + "]";
    }
}
