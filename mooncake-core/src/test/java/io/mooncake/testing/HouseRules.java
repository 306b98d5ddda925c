package io.mooncake.testing;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.assignableTo;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.simpleName;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.AccessTarget.CodeUnitCallTarget;
import com.tngtech.archunit.core.domain.JavaCall;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.domain.JavaMember;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.domain.JavaType;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;

/**
 * The rules that hold in the main code of every module, and the form of a rule about edges between packages. An
 * architecture test of a module runs them over that module's compiled classes with {@link #tests}.
 */
public final class HouseRules {

    /** Methods that the JDK calls restricted, beside {@code Linker} itself. */
    private static final Set<String> RESTRICTED = Set.of("java.lang.foreign.SymbolLookup.libraryLookup",
            "java.lang.foreign.MemorySegment.reinterpret", "java.lang.foreign.AddressLayout.withTargetLayout",
            "java.lang.System.load", "java.lang.System.loadLibrary", "java.lang.Runtime.load",
            "java.lang.Runtime.loadLibrary");

    private static final Set<String> SLEEPS = Set.of("java.lang.Thread.sleep", "java.util.concurrent.TimeUnit.sleep");

    private static final Set<String> REFLECTION = Set.of("java.lang.Class.forName", "java.lang.Class.newInstance",
            "java.lang.Class.getMethod", "java.lang.Class.getMethods", "java.lang.Class.getDeclaredMethod",
            "java.lang.Class.getDeclaredMethods", "java.lang.Class.getField", "java.lang.Class.getFields",
            "java.lang.Class.getDeclaredField", "java.lang.Class.getDeclaredFields", "java.lang.Class.getConstructor",
            "java.lang.Class.getConstructors", "java.lang.Class.getDeclaredConstructor",
            "java.lang.Class.getDeclaredConstructors", "java.lang.ClassLoader.loadClass",
            "java.lang.invoke.MethodHandles$Lookup.findVirtual", "java.lang.invoke.MethodHandles$Lookup.findStatic",
            "java.lang.invoke.MethodHandles$Lookup.findConstructor", "java.lang.invoke.MethodHandles$Lookup.findClass");

    private HouseRules() {}

    /**
     * The classes under one folder of class files, without what they depend on.
     *
     * @param folder {@code target/classes} of a module
     * @return the classes; none is an error of the caller
     */
    public static JavaClasses classesUnder(String folder) {
        JavaClasses found = new ClassFileImporter().importPath(folder);
        if (found.isEmpty()) {
            throw new IllegalStateException(
                    "no class under " + folder + ": run from the module's folder, after compile");
        }
        return found;
    }

    /**
     * One test a rule. A rule about a package that does not exist holds.
     *
     * @param classes what the rules are about
     * @param rules the rules
     * @return the tests, named by the rules
     */
    public static Stream<DynamicTest> tests(JavaClasses classes, Stream<ArchRule> rules) {
        return rules.map(
                rule -> DynamicTest.dynamicTest(rule.getDescription(),
                        () -> rule.allowEmptyShould(true).check(classes)));
    }

    /**
     * What no main code does: restricted native access outside the {@code .ffi} packages, flags forced upon the user,
     * services, reflection, sleep.
     *
     * @return the rules
     */
    public static Stream<ArchRule> bans() {
        return Stream.of(nativeAccessOnlyInFfi(), noAgronaThatNeedsFlag(),
                noClasses().should()
                        .dependOnClassesThat(assignableTo(java.util.ServiceLoader.class))
                        .as("wiring is constructor code: no ServiceLoader"),
                // jextract's upcall support looks one method up; it is generated, and only of functional interfaces. DirectIo names one
                // enum of the JDK that compilers warn of.
                noClasses().that(not(resideInAPackage("..ffi").or(simpleName("DirectIo"))))
                        .should()
                        .dependOnClassesThat(resideInAPackage("java.lang.reflect"))
                        .orShould()
                        .callCodeUnitWhere(callOf(REFLECTION))
                        .as("wiring is constructor code: no reflection"),
                noClasses().should()
                        .callCodeUnitWhere(callOf(SLEEPS))
                        .as("no Thread.sleep: agents idle by their strategy, waiters park"));
    }

    /**
     * All rules of a module that wraps a native library: {@code module} uses the facade, the facade its raw bindings, in the package
     * {@code ffi} below it; nobody sees further, or more of the core.
     *
     * @param module the module's root package
     * @param facade the facade's package
     * @param library simple name of the one class beside the bindings that the module itself may use
     * @return the rules, with {@link #bans}
     */
    public static Stream<ArchRule> nativeModule(String module, String facade, String library) {
        String bindings = facade + ".ffi";
        DescribedPredicate<JavaClass> rawBinding = DescribedPredicate.describe("a raw binding",
                type -> type.getPackageName().equals(bindings) && !type.getSimpleName().equals(library));
        ArchRule throughTheFacade = noClasses().that()
                .resideInAPackage(module)
                .should()
                .dependOnClassesThat(rawBinding)
                .as("raw bindings are used through the facade " + facade + " only");
        Stream<ArchRule> own = Stream.of(
                edges("io.mooncake", module, List.of("io.mooncake.core..", facade, bindings)),
                edges("io.mooncake", facade, List.of("io.mooncake.core.base", bindings)),
                edges("io.mooncake", bindings, List.of()), throughTheFacade, ownSignatures(module));
        return Stream.concat(own, bans());
    }

    private static ArchRule nativeAccessOnlyInFfi() {
        return noClasses().that(not(resideInAPackage("..ffi")))
                .should()
                .dependOnClassesThat(assignableTo(java.lang.foreign.Linker.class))
                .orShould()
                .callCodeUnitWhere(callOf(RESTRICTED))
                .as("only the .ffi packages use java.lang.foreign.Linker or another restricted method");
    }

    private static ArchRule noAgronaThatNeedsFlag() {
        DescribedPredicate<JavaClass> needsFlag = resideInAnyPackage("org.agrona.concurrent.ringbuffer..",
                "org.agrona.concurrent.broadcast..", "org.agrona.concurrent.status..", "org.agrona.concurrent.errors..")
                .or(DescribedPredicate.describe("an Agrona buffer or queue",
                        type -> type.getPackageName().startsWith("org.agrona") && type.getSimpleName()
                                .matches("UnsafeApi|UnsafeBuffer|MarkFile|.*Buffer|BufferUtil|.*Queue|.*Pipe")));
        return noClasses().should()
                .dependOnClassesThat(needsFlag)
                .as("no Agrona buffer, queue, ring buffer or counter: each needs a JVM flag from every user");
    }

    /**
     * No third-party type in what users compile against.
     *
     * @param exported the exported packages
     * @return the rule
     */
    public static ArchRule ownSignatures(String... exported) {
        return classes().that()
                .resideInAnyPackage(exported)
                .and(visible())
                .should(onlyNameOwnTypes())
                .as("no third-party type in the signatures of exported packages");
    }

    /**
     * The allowed edges of one package.
     *
     * @param root the rule is about edges to packages under this one only
     * @param from a package
     * @param allowed the packages, besides itself, that it may depend on ({@code ..} for those below, too)
     * @return the rule
     */
    public static ArchRule edges(String root, String from, List<String> allowed) {
        List<String> all = new ArrayList<>(allowed);
        all.add(from);
        return classes().that()
                .resideInAPackage(from)
                .should()
                .onlyDependOnClassesThat(
                        not(resideInAPackage(root + "..")).or(resideInAnyPackage(all.toArray(String[]::new))))
                .as(from + " -> " + (allowed.isEmpty() ? "nothing" : String.join(", ", allowed)) + " (under " + root
                        + ")");
    }

    private static DescribedPredicate<JavaCall<?>> callOf(Set<String> methods) {
        return DescribedPredicate.describe("a call of " + methods, call -> {
            CodeUnitCallTarget target = call.getTarget();
            return methods.contains(target.getOwner().getName() + "." + target.getName());
        });
    }

    /** Public, in public types only, all the way out. */
    private static DescribedPredicate<JavaClass> visible() {
        return DescribedPredicate.describe("visible to users", type -> {
            for (JavaClass t = type;; t = t.getEnclosingClass().get()) {
                if (!t.getModifiers().contains(JavaModifier.PUBLIC)
                        && !t.getModifiers().contains(JavaModifier.PROTECTED)) {
                    return false;
                }
                if (t.getEnclosingClass().isEmpty()) {
                    return true;
                }
            }
        });
    }

    private static ArchCondition<JavaClass> onlyNameOwnTypes() {
        return new ArchCondition<>("name only types of the JDK and of Mooncake") {
            @Override
            public void check(JavaClass type, ConditionEvents events) {
                type.getSuperclass().ifPresent(s -> check(type, type.getDescription(), s, events));
                type.getInterfaces().forEach(i -> check(type, type.getDescription(), i, events));
                for (JavaMember member : type.getMembers()) {
                    Set<JavaModifier> modifiers = member.getModifiers();
                    boolean seen = modifiers.contains(JavaModifier.PUBLIC)
                            || modifiers.contains(JavaModifier.PROTECTED);
                    if (!seen || modifiers.contains(JavaModifier.SYNTHETIC)) {
                        continue;
                    }
                    for (JavaType named : typesOf(member)) {
                        check(type, member.getDescription(), named, events);
                    }
                }
            }

            private void check(JavaClass owner, String where, JavaType named, ConditionEvents events) {
                for (JavaClass raw : named.getAllInvolvedRawTypes()) {
                    String name = raw.getBaseComponentType().getPackageName();
                    boolean own = name.isEmpty() || name.startsWith("java.") || name.startsWith("io.mooncake.");
                    events.add(new SimpleConditionEvent(owner, own, where + " names " + raw.getName()));
                }
            }
        };
    }

    private static Set<JavaType> typesOf(JavaMember member) {
        Set<JavaType> types = new HashSet<>();
        if (member instanceof JavaField field) {
            types.add(field.getType());
        } else if (member instanceof JavaCodeUnit unit) {
            types.add(unit.getReturnType());
            types.addAll(unit.getParameterTypes());
            types.addAll(unit.getExceptionTypes());
        }
        return types;
    }
}
