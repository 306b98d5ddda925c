package io.mooncake.core.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.schedule.ActivationPlan.Link;
import io.mooncake.core.schedule.ActivationPlan.Moment;
import io.mooncake.core.schedule.ActivationPlan.Use;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Who leaves and who comes back. */
final class ActivationPlanTest {
    private static final Link FAST = new Link(1, 0, 2);

    private static List<Use> uses(long... nextUses) {
        List<Use> uses = new ArrayList<>();
        for (int i = 0; i < nextUses.length; i++) {
            uses.add(new Use(i, nextUses[i]));
        }
        return uses;
    }

    @Test
    void shouldLetTheFurthestLeaveForAWriteThatHasNoSlot() {
        Moment full = new Moment(10, 3, uses(20, 40, 30), 0, 0, List.of(), 0, List.of(1), FAST, FAST);
        assertEquals(new ActivationPlan(List.of(1), List.of()), ActivationPlan.of(full));
    }

    @Test
    void shouldWaitAsLongAsTheLinkIsFastEnough() {
        List<Integer> one = List.of(0, 0, 0, 0, 1);
        assertEquals(List.of(),
                ActivationPlan.of(new Moment(10, 3, uses(20, 40, 30), 0, 0, List.of(), 0, one, FAST, FAST)).leave());
        // In four steps a slow one moves one block: now or too late.
        Link slow = new Link(0.25, 0, 2);
        assertEquals(List.of(1),
                ActivationPlan.of(new Moment(10, 3, uses(20, 40, 30), 0, 0, List.of(), 0, one, slow, slow)).leave());
        assertEquals(List.of(),
                ActivationPlan.of(new Moment(10, 3, uses(20, 40), 0, 1, List.of(), 0, one, slow, slow)).leave(),
                "one is on its way already");
    }

    @Test
    void shouldBeginEarlierWhereItArrivesLater() {
        List<Integer> one = List.of(0, 0, 0, 0, 1);
        Link late = new Link(1, 2, 2);
        assertEquals(List.of(),
                ActivationPlan.of(new Moment(10, 3, uses(20, 40, 30), 0, 0, List.of(), 0, one, late, FAST)).leave());
        Link later = new Link(1, 2.5, 2);
        assertEquals(List.of(1),
                ActivationPlan.of(new Moment(10, 3, uses(20, 40, 30), 0, 0, List.of(), 0, one, later, FAST)).leave());
    }

    @Test
    void shouldHaveAsManyOnTheirWayAsEachWayHolds() {
        Link deep = new Link(1, 0, 3);
        List<Use> far = List.of(new Use(7, 50), new Use(8, 51), new Use(9, 52), new Use(10, 53));
        Moment back = new Moment(10, 9, uses(20), 0, 0, far, 0, List.of(0), FAST, deep);
        assertEquals(List.of(7, 8, 9), ActivationPlan.of(back).come());
        Moment out = new Moment(10, 4, uses(20, 21, 22, 23), 0, 0, List.of(), 0, List.of(1, 1, 1, 1), deep, FAST);
        assertEquals(List.of(3, 2, 1), ActivationPlan.of(out).leave());
    }

    @Test
    void shouldBringTheNearestBackIntoASlotThatNoWriteTakes() {
        Moment room = new Moment(10, 3, uses(20), 0, 0, List.of(new Use(7, 50), new Use(8, 15)), 0, List.of(0, 0),
                FAST, FAST);
        assertEquals(List.of(8, 7), ActivationPlan.of(room).come());
        Moment writes = new Moment(10, 3, uses(20), 0, 0, List.of(new Use(7, 50), new Use(8, 15)), 0,
                List.of(0, 0, 0, 0, 0, 0, 2), FAST, FAST);
        assertEquals(List.of(8), ActivationPlan.of(writes).come(), "the writes come before the other one is used");
        Moment underWay = new Moment(10, 3, uses(20), 1, 0, List.of(new Use(7, 50)), 1, List.of(0), FAST, FAST);
        assertEquals(List.of(7), ActivationPlan.of(underWay).come());
        Moment full = new Moment(10, 3, uses(20), 2, 0, List.of(new Use(7, 50)), 2, List.of(0), FAST, FAST);
        assertEquals(List.of(), ActivationPlan.of(full).come());
    }

    @Test
    void shouldAskForNoMoreThanThereIsAndSayTheSameOfTheSame() {
        Random random = new Random(3);
        for (int round = 0; round < 5_000; round++) {
            int slots = 1 + random.nextInt(20);
            List<Use> near = new ArrayList<>();
            List<Use> far = new ArrayList<>();
            for (int i = random.nextInt(slots + 1); i > 0; i--) {
                near.add(new Use(i, random.nextInt(100)));
            }
            for (int i = random.nextInt(20); i > 0; i--) {
                far.add(new Use(100 + i, random.nextInt(100)));
            }
            List<Integer> ahead = new ArrayList<>();
            for (int i = random.nextInt(30); i > 0; i--) {
                ahead.add(random.nextInt(3) - 1);
            }
            int leaving = random.nextInt(3);
            int coming = random.nextInt(3);
            Link link = new Link(0.1 + random.nextDouble(), random.nextInt(5), 2);
            Moment moment = new Moment(random.nextInt(100), slots, near, coming, leaving, far, coming, ahead, link,
                    link);
            ActivationPlan plan = ActivationPlan.of(moment);
            assertTrue(plan.leave().size() + leaving <= Math.max(2, leaving), plan::toString);
            assertTrue(plan.come().size() <= Math.max(0, slots - near.size() - coming - leaving), plan::toString);
            assertTrue(near.stream().map(Use::block).toList().containsAll(plan.leave()), plan::toString);
            assertTrue(far.stream().map(Use::block).toList().containsAll(plan.come()), plan::toString);
            Collections.shuffle(near, random);
            assertEquals(plan.leave().size(),
                    ActivationPlan.of(new Moment(moment.step(), slots, near, coming, leaving, far,
                            coming, ahead, moment.out(), moment.back())).leave().size(),
                    "seed 3, round " + round);
        }
    }

    @Test
    void shouldRefuseALinkThatMovesNothing() {
        assertThrows(MooncakeException.class, () -> new Link(0, 0, 2));
        assertThrows(MooncakeException.class, () -> new Link(1, 0, 0));
        assertThrows(MooncakeException.class, () -> new Link(1, -1, 1));
        assertThrows(MooncakeException.class, () -> new Link(Double.NaN, 0, 1));
    }
}
