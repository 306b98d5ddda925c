package io.mooncake.core;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.assignableTo;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaCall;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.lang.ArchRule;
import io.mooncake.testing.HouseRules;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/** The allowed edges between core's packages, and no others. Written over a root package, so that a fixture can break them. */
final class CoreRules {

    private static final Set<String> CLOCK_CALLS = Set.of("java.lang.System.nanoTime",
            "java.lang.System.currentTimeMillis");

    private CoreRules() {}

    static Stream<ArchRule> all(String root) {
        Map<String, List<String>> allowed = allowedEdges();
        Stream<ArchRule> edges = allowed.entrySet()
                .stream()
                .map(edge -> HouseRules.edges(root, under(root, edge.getKey()),
                        edge.getValue().stream().map(name -> under(root, name)).toList()));
        return Stream.concat(edges,
                Stream.of(everyPackageIsKnown(root, allowed.keySet()), scheduleTakesValues(root),
                        scheduleIsPure(root)));
    }

    /** The exported packages, as module-info names them. */
    static String[] exported(String root) {
        return Stream.of("", "base", "block", "pool", "transfer", "registry", "schedule")
                .map(name -> under(root, name))
                .toArray(String[]::new);
    }

    private static Map<String, List<String>> allowedEdges() {
        Map<String, List<String>> allowed = new LinkedHashMap<>();
        allowed.put("base", List.of());
        // These two do not know each other: a transfer knows its pieces by index, never by id.
        allowed.put("block", List.of("base"));
        allowed.put("transfer", List.of("base"));
        allowed.put("pool", List.of("base", "block", "transfer"));
        allowed.put("registry", List.of("base", "block", "transfer"));
        allowed.put("schedule", List.of("base", "block", "registry"));
        // What the engines share that copy with the processor.
        allowed.put("transfer.copy", List.of("base", "transfer"));
        for (String engine : List.of("transfer.local", "transfer.shm")) {
            allowed.put(engine, List.of("base", "transfer", "transfer.copy"));
        }
        for (String engine : List.of("transfer.tcp", "transfer.file", "transfer.onesided")) {
            allowed.put(engine, List.of("base", "transfer"));
        }
        allowed.put("registry.jgroups", List.of("base", "block", "transfer", "registry"));
        allowed.put("manager.eviction", List.of("base", "block"));
        allowed.put("manager",
                List.of("base", "block", "transfer", "pool", "registry", "schedule", "manager.eviction"));
        // The facade wires the node: it sees all, and nothing sees it.
        allowed.put("", List.of("."));
        return allowed;
    }

    private static String under(String root, String name) {
        return name.isEmpty() ? root : name.equals(".") ? root + ".." : root + "." + name;
    }

    private static ArchRule everyPackageIsKnown(String root, Set<String> names) {
        String[] known = names.stream().map(name -> under(root, name)).toArray(String[]::new);
        return classes().that()
                .resideInAPackage(root + "..")
                .should()
                .resideInAnyPackage(known)
                .as("every package under " + root + " has its allowed edges written down");
    }

    private static ArchRule scheduleTakesValues(String root) {
        DescribedPredicate<JavaClass> living = resideInAnyPackage(under(root, "block"), under(root, "registry"))
                .and(assignableTo(AutoCloseable.class));
        return noClasses().that()
                .resideInAPackage(under(root, "schedule"))
                .should()
                .dependOnClassesThat(living)
                .as("schedule takes values of block and registry, nothing that can be closed");
    }

    private static ArchRule scheduleIsPure(String root) {
        DescribedPredicate<JavaClass> outside = resideInAnyPackage("java.io..", "java.nio.file..",
                "java.nio.channels..",
                "java.net..").and(DescribedPredicate.not(assignableTo(Throwable.class)))
                .or(DescribedPredicate.describe("a clock or a thread",
                        type -> type.getName()
                                .matches("java\\.time\\..*Clock|java\\.lang\\.Thread(\\$.*)?"
                                        + "|java\\.util\\.concurrent\\..*Executor.*|org\\.agrona\\.concurrent\\..*")));
        DescribedPredicate<JavaCall<?>> clockCall = DescribedPredicate.describe("a clock's reading",
                call -> CLOCK_CALLS.contains(call.getTargetOwner().getName() + "." + call.getName())
                        || (call.getTargetOwner().getPackageName().equals("java.time")
                                && call.getName().equals("now")));
        return noClasses().that()
                .resideInAPackage(under(root, "schedule"))
                .should()
                .dependOnClassesThat(outside)
                .orShould()
                .callCodeUnitWhere(clockCall)
                .as("schedule is pure: no clock, no thread, no I/O");
    }
}
