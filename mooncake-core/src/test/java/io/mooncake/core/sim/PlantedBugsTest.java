package io.mooncake.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.fail;

import io.mooncake.core.block.BlockState;
import io.mooncake.core.pool.GuardTable;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.Opcode;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.LoadInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Bugs that such systems had, planted one at a time: the simulator must find each, and say which invariant does not hold. */
class PlantedBugsTest {
    private static final int SEEDS = 300;
    private static final String RULES = "transfer.onesided.Rules";

    private record Bug(Planted planted, List<String> findings) {
        Bug(Planted planted, Integer... invariants) {
            this(planted, Stream.of(invariants).map(number -> "invariant " + number + ":").toList());
        }

        /** The simulated card may find it, too. */
        Bug orFoundBy(String check) {
            return new Bug(planted, Stream.concat(findings.stream(), Stream.of(check)).toList());
        }
    }

    private static Map<String, Bug> bugs() {
        Map<String, Bug> bugs = new TreeMap<>();
        bugs.put("memory is handed out at cancel, while requests are outstanding",
                new Bug(new Planted().answers(RULES, "mayEnd", true), 2));
        bugs.put("the guard is fetched together with the data",
                new Bug(new Planted().answers(RULES, "mayProve", true).answers(RULES, "proves", true), 1));
        bugs.put("the guard is not raised at evict",
                new Bug(new Planted().doesNothing("pool.GuardTable", "evicted"), 5));
        bugs.put("the control word is written before the guard at commit",
                new Bug(new Planted().rewrite("manager.Publication", "seal", wordBeforeGuard()), 5));
        bugs.put("a chunk is posted again while its former request is outstanding",
                new Bug(new Planted().answers(RULES, "endsRequests", true), 2));
        bugs.put("a chunk of a broken lane is trusted",
                new Bug(new Planted().rewrite(RULES, "hasArrived", laneTakenForOpen()), 1));
        bugs.put("a pin does not check the generation",
                new Bug(new Planted().rewrite("manager.ControlWords", "pin", anyGeneration()), 5));
        bugs.put("a stale cookie is trusted",
                new Bug(new Planted().answers(RULES, "isCurrent", true), 1, 2).orFoundBy("outstanding exceed"));
        bugs.put("a stage is reported before it is proven",
                new Bug(new Planted().rewrite("transfer.Transfer", "stage", pendingTakenForOk()), 1));
        bugs.put("a terminal callback is run twice",
                new Bug(new Planted().rewrite("transfer.Transfer", "release", poolMemoryTakenForTheCallers()),
                        4));
        bugs.put("checksums are not compared",
                new Bug(new Planted().answers("transfer.copy.CopyPoller", "isUndamaged", true), 1, 8));
        return bugs;
    }

    @Test
    void withoutABugNothingIsFound() {
        LongFunction<@Nullable String> seeds = new Planted().seeds();
        for (long seed = 1; seed <= 20; seed++) {
            assertNull(seeds.apply(seed));
        }
    }

    @TestFactory
    Stream<DynamicTest> eachIsFound() {
        return bugs().entrySet().stream().map(bug -> DynamicTest.dynamicTest(bug.getKey(), () -> find(bug.getValue())));
    }

    private static void find(Bug bug) {
        LongFunction<@Nullable String> seeds = bug.planted.seeds();
        Map<Long, String> others = new TreeMap<>();
        for (long seed = 1; seed <= SEEDS; seed++) {
            String found = seeds.apply(seed);
            assertEquals(List.of(), found == null ? List.of() : bug.planted.missing(), "not rewritten");
            if (found != null && bug.findings.stream().anyMatch(found::contains)) {
                return;
            }
            if (found != null) {
                // A bug may break more than what it is about, and a seed ends with the first thing that is wrong.
                others.put(seed, found);
            }
        }
        assertEquals(List.of(), bug.planted.missing(), "not rewritten");
        fail("not found in " + SEEDS + " seeds; found instead: " + others);
    }

    // ---- the rewritten code

    /** hasArrived(end, laneIsOpen): the second argument is true always. */
    private static CodeTransform laneTakenForOpen() {
        return (code, element) -> {
            if (element instanceof LoadInstruction load && load.slot() == 2) {
                code.iconst_1();
            } else {
                code.with(element);
            }
        };
    }

    /** pin(slot, generation): the generation is what the word has. */
    private static CodeTransform anyGeneration() {
        ClassDesc words = ClassDesc.of("io.mooncake.core.manager.ControlWords");
        return (code, element) -> {
            if (element instanceof LoadInstruction load && load.slot() == 2) {
                code.aload(0)
                        .iload(1)
                        .invokevirtual(words, "get",
                                MethodTypeDesc.of(ConstantDescs.CD_long, ConstantDescs.CD_int))
                        .invokestatic(words, "generation",
                                MethodTypeDesc.of(ConstantDescs.CD_long, ConstantDescs.CD_long));
            } else {
                code.with(element);
            }
        };
    }

    /** seal(lease, ...): what is to be written is only computed; the guard is stored after the word, and somebody looks in between. */
    private static CodeTransform wordBeforeGuard() {
        ClassDesc publication = ClassDesc.of("io.mooncake.core.manager.Publication");
        ClassDesc lease = ClassDesc.of("io.mooncake.core.manager.Lease");
        ClassDesc space = ClassDesc.of("io.mooncake.core.manager.Space");
        ClassDesc guards = ClassDesc.of(GuardTable.class.getName());
        ClassDesc state = ClassDesc.of(BlockState.class.getName());
        ClassDesc clock = ClassDesc.of("java.util.function.LongSupplier");
        MethodTypeDesc written = MethodTypeDesc.of(ConstantDescs.CD_long, ConstantDescs.CD_int, ConstantDescs.CD_long);
        MethodTypeDesc number = MethodTypeDesc.of(ConstantDescs.CD_long);
        return (code, element) -> {
            if (!(element instanceof InvokeInstruction call) || !call.name().equalsString("written")) {
                code.with(element);
            } else if (call.owner().asSymbol().equals(guards)) {
                code.dup2_x2()
                        .pop2()
                        .pop2()
                        .getstatic(state, "WRITTEN", state)
                        .invokestatic(guards, "guard",
                                MethodTypeDesc.of(ConstantDescs.CD_long, ConstantDescs.CD_long, state));
            } else {
                code.with(element)
                        .aload(0)
                        .getfield(publication, "nanoClock", clock)
                        .invokeinterface(clock, "getAsLong", number)
                        .pop2()
                        .aload(1)
                        .invokevirtual(lease, "space", MethodTypeDesc.of(space))
                        .invokevirtual(space, "guards", MethodTypeDesc.of(guards))
                        .aload(1)
                        .invokevirtual(lease, "localSlot", MethodTypeDesc.of(ConstantDescs.CD_int))
                        .aload(1)
                        .invokevirtual(lease, "generation", number)
                        .invokevirtual(guards, "written", written)
                        .pop2();
            }
        };
    }

    /** stage(): the outcome that is compared with is PENDING. */
    private static CodeTransform pendingTakenForOk() {
        return (code, element) -> {
            if (element instanceof FieldInstruction field && field.name().equalsString("OK")) {
                code.getstatic(field.owner().asSymbol(), "PENDING", field.typeSymbol());
            } else {
                code.with(element);
            }
        };
    }

    /** release(): a transfer into the pool's memory calls back again when it is released. */
    private static CodeTransform poolMemoryTakenForTheCallers() {
        return (code, element) -> {
            if (element instanceof FieldInstruction field && field.opcode() == Opcode.GETFIELD
                    && field.name().equalsString("poolMemoryOnly")) {
                code.pop().iconst_0();
            } else {
                code.with(element);
            }
        };
    }
}
