package io.mooncake.core.manager;

import io.mooncake.core.block.BlockState;
import io.mooncake.core.block.FreeRanges;
import io.mooncake.core.block.Tier;

/**
 * Who has the slots, counted by looking at each: for the messages of refusals, not for decisions.
 *
 * @param slots long enough
 * @param pinned of views and reads
 * @param held of holds
 * @param writing being written
 * @param quarantined given up while work is outstanding
 * @param evictable cached, or about to be free
 * @param shorter free slots that are not long enough
 * @param freeBytes in ranges, of pools that have such
 * @param longestBytes of those ranges
 */
record Census(int slots, int pinned, int held, int writing, int quarantined, int evictable, int shorter, long freeBytes,
        long longestBytes) {
    private static final int MAX_NAMED = 16;

    static Census of(SlotTable table, long length, Tier tier) {
        int slots = 0;
        int pinned = 0;
        int held = 0;
        int writing = 0;
        int quarantined = 0;
        int evictable = 0;
        int shorter = 0;
        for (int slot = 0; slot < table.slots; slot++) {
            Space space = table.spaceOf(slot);
            if (space.pool().tier() != tier) {
                continue;
            }
            long word = table.words.get(slot);
            BlockState state = ControlWords.state(word);
            boolean isRange = space.pool().ranges() != null;
            if (isRange ? state == BlockState.FREE : space.pool().slotBytes(slot - space.first()) < length) {
                shorter += state == BlockState.FREE && !isRange ? 1 : 0;
                continue;
            }
            slots++;
            if (state == BlockState.ALLOCATED) {
                quarantined += isQuarantined(table, slot) ? 1 : 0;
                writing += isQuarantined(table, slot) ? 0 : 1;
            } else if (table.words.holds(slot) > 0) {
                held++;
            } else if (ControlWords.pins(word) > 0) {
                pinned++;
            } else {
                evictable++;
            }
        }
        FreeRanges ranges = table.tiers.freeRanges(tier, false);
        return new Census(slots, pinned, held, writing, quarantined, evictable, shorter, ranges.bytes(),
                ranges.longest());
    }

    private static boolean isQuarantined(SlotTable table, int slot) {
        long fate = table.words.fate(slot);
        return fate == SlotTable.QUARANTINED || fate == SlotTable.RELEASED;
    }

    static String holders(SlotTable table) {
        StringBuilder text = new StringBuilder();
        int named = 0;
        for (int slot = 0; slot < table.slots; slot++) {
            long word = table.words.get(slot);
            BlockState state = ControlWords.state(word);
            int pins = ControlWords.pins(word);
            if (state != BlockState.ALLOCATED && pins == 0) {
                continue;
            }
            if (named++ < MAX_NAMED) {
                text.append(named == 1 ? "" : ", ").append("block ").append(table.name(slot));
                if (pins > 0) {
                    text.append(" with ").append(pins).append(pins == 1 ? " pin" : " pins");
                    long holds = table.words.holds(slot);
                    text.append(holds == 0 ? "" : " (" + holds + " of holds)");
                } else {
                    text.append(isQuarantined(table, slot) ? " quarantined" : " being written");
                }
            }
        }
        if (named > MAX_NAMED) {
            text.append(" and ").append(named - MAX_NAMED).append(" more");
        }
        return named == 0 ? "nobody" : text.toString();
    }

    @Override
    public String toString() {
        return "of " + slots + " slots that are long enough " + pinned + " are pinned, " + held + " held, " + writing
                + " being written, " + quarantined + " quarantined, " + evictable + " on their way out or cached; "
                + shorter + " free slots are too short"
                + (freeBytes == 0
                        ? ""
                        : "; " + freeBytes + " bytes are free, fragmented: the longest range has " + longestBytes)
                + ": close views, holds and writers sooner, or give the pool more slots of that size";
    }
}
