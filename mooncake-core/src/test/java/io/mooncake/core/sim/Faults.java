package io.mooncake.core.sim;

import io.mooncake.core.transfer.onesided.SimTiming;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** What goes wrong. */
final class Faults {
    /** A world has so many at least. */
    static final int LEAST = 10;

    private static final int MIN_LIVING = 2;
    private static final long STALL_NS = 600_000;
    private static final SimTiming LATE = new SimTiming(200_000, 30_000, 250_000, 6, 400_000, 30_000, 50);

    private record Cut(String one, String other) {}

    private final World world;
    private final SplittableRandom random;
    private final List<String> down = new ArrayList<>();
    private final List<Cut> cuts = new ArrayList<>();
    private boolean late;

    Faults(SplittableRandom random, World world) {
        this.random = random;
        this.world = world;
    }

    void act() {
        SimNode node = world.some();
        switch (random.nextInt(12)) {
            case 0 -> crash(node);
            case 1, 2 -> restart();
            case 3 -> partition();
            case 4 -> heal();
            case 5 -> {
                if (world.network.breakSomeLane()) {
                    hit("lane break");
                }
            }
            case 6 -> {
                node.stalledUntilNs = world.time.nowNs() + random.nextLong(STALL_NS);
                hit("stall");
            }
            case 7 -> {
                late = !late;
                world.network.timing(late ? LATE : World.TIMING);
                hit("late landing");
            }
            case 8 -> flipBit(node);
            default -> storm(node);
        }
    }

    private void flipBit(SimNode node) {
        if (!node.isStalled() && world.workload().readDamaged(node)) {
            hit("bit flip");
            world.check(node);
        }
    }

    private void storm(SimNode node) {
        if (node.isStalled()) {
            return;
        }
        Workload workload = world.workload();
        switch (random.nextInt(3)) {
            case 0 -> {
                hit("cancel storm");
                workload.cancelStorm(node);
            }
            case 1 -> {
                hit("eviction storm");
                workload.evictionStorm(node);
            }
            default -> {
                hit("tiny deadlines");
                workload.tinyDeadlines(node);
            }
        }
        world.check(node);
    }

    private void hit(String fault) {
        world.faults++;
        world.tally.hit("fault " + fault);
        world.trace(() -> "fault: " + fault);
    }

    private void crash(SimNode node) {
        if (world.nodes.size() <= MIN_LIVING) {
            return;
        }
        down.add(node.name);
        if (random.nextInt(3) == 0) {
            hit("graceful leave");
            world.workload().closeWhileInUse(node);
            return;
        }
        hit("crash");
        world.crash(node);
    }

    private void restart() {
        if (!down.isEmpty()) {
            hit("restart");
            world.start(down.remove(random.nextInt(down.size())));
        }
    }

    private void partition() {
        String one = world.some().name;
        String other = world.some().name;
        if (!one.equals(other)) {
            hit("partition");
            cuts.add(new Cut(one, other));
            world.network.cut(one, other);
            world.bus.cut(one, other);
        }
    }

    private void heal() {
        if (!cuts.isEmpty()) {
            hit("heal");
            heal(cuts.remove(random.nextInt(cuts.size())));
        }
    }

    private void heal(Cut cut) {
        world.network.heal(cut.one, cut.other);
        world.bus.heal(cut.one, cut.other);
    }

    void healAll() {
        cuts.forEach(this::heal);
        cuts.clear();
    }
}
