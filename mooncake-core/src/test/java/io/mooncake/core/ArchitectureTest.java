package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.EvaluationResult;
import io.mooncake.testing.HouseRules;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The architecture of the core, over its compiled main classes; and that the rules bite, over a fixture that breaks each. */
class ArchitectureTest {

    private static final String ROOT = "io.mooncake.core";
    private static final String FIXTURE = "io.mooncake.core.archfixture";

    @TestFactory
    Stream<DynamicTest> coreKeepsItsRules() {
        return HouseRules.tests(HouseRules.classesUnder("target/classes"), rules(ROOT));
    }

    @TestFactory
    Stream<DynamicTest> everyRuleBitesOnTheFixture() {
        JavaClasses fixture = HouseRules.classesUnder("target/test-classes/" + FIXTURE.replace('.', '/'));
        // The fixture has one offence per rule; these hold there because nothing of theirs is in it.
        List<String> innocent = List.of("base ->", "pool ->", "registry ->", "copy ->", "shm ->", "tcp ->", "file ->",
                "onesided ->", "jgroups ->", "eviction ->",
                "archfixture ->");
        return rules(FIXTURE).filter(rule -> innocent.stream().noneMatch(rule.getDescription()::contains))
                .map(rule -> DynamicTest.dynamicTest(rule.getDescription(), () -> {
                    EvaluationResult result = rule.allowEmptyShould(true).evaluate(fixture);
                    assertTrue(result.hasViolation(), "not one offence found: " + rule.getDescription());
                }));
    }

    @Test
    void offencesAreNamedWithTheirPlace() {
        JavaClasses fixture = HouseRules.classesUnder("target/test-classes/" + FIXTURE.replace('.', '/'));
        List<String> found = rules(FIXTURE).flatMap(
                rule -> rule.allowEmptyShould(true).evaluate(fixture).getFailureReport().getDetails().stream())
                .toList();
        for (String offence : List.of("BlockThatKnowsTransfer", "ManagerThatKnowsTheFacade",
                "ScheduleThatReadsTheClock",
                "Rogue.sleeps", "Rogue.reflects", "Rogue.loads", "Rogue.links", "Rogue.buffer",
                "FacadeThatShowsAgrona.clock")) {
            assertTrue(found.stream().anyMatch(line -> line.contains(offence)),
                    () -> offence + " not found in " + found);
        }
    }

    private static Stream<ArchRule> rules(String root) {
        return Stream
                .of(CoreRules.all(root), HouseRules.bans(),
                        Stream.of(HouseRules.ownSignatures(CoreRules.exported(root))))
                .flatMap(r -> r);
    }
}
