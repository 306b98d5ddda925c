package io.mooncake.core.block;

/**
 * How what is free in a tier lies. A value.
 *
 * @param bytes free, of all ranges together
 * @param longest bytes of the longest free range: what the longest block could have that is written now
 * @param needsScratch whether compaction ended with more than one range because no free range is as long as the block that was in the way
 */
public record FreeRanges(long bytes, long longest, boolean needsScratch) {}
