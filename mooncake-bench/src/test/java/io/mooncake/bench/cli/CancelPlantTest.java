package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.testing.ForkedJvm;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.instruction.InvokeInstruction;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** That {@code cancel} sees what it looks for: in a library that hands a slot out when its pull is canceled, bytes still landing. */
class CancelPlantTest {
    private static final String WRITERS = "io/mooncake/core/manager/Writers.class";

    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path folder;

    @Test
    void shouldFailWithinAThousandCancelsWhenMemoryIsHandedOutAtCancel() throws Exception {
        plant();
        String classPath = folder + File.pathSeparator + System.getProperty("java.class.path");
        ForkedJvm.Result result = ForkedJvm.run(folder,
                List.of("-cp", classPath, Main.class.getName(), "cancel", "--count", "1000", "--sizes", "1MiB..8MiB"));
        assertEquals(Main.FAILED, result.exit(), result::out);
        assertTrue(result.out().contains("of pool memory is not what its owner wrote"), result::toString);
    }

    /** What was quarantined until nothing writes there is given back at once; that it is released later is not heard. */
    private void plant() throws IOException {
        CodeTransform early = (code, element) -> {
            if (!(element instanceof InvokeInstruction call)) {
                code.with(element);
            } else if (call.name().equalsString("quarantine")) {
                code.invokevirtual(call.owner().asSymbol(), "giveBack", call.typeSymbol());
            } else if (call.name().equalsString("released")) {
                code.pop().pop();
            } else {
                code.with(element);
            }
        };
        try (InputStream original = ClassLoader.getSystemResourceAsStream(WRITERS)) {
            assertNotNull(original, WRITERS);
            ClassFile file = ClassFile.of();
            byte[] planted = file.transformClass(file.parse(original.readAllBytes()),
                    ClassTransform.transformingMethodBodies(early));
            Path target = folder.resolve(WRITERS);
            Files.createDirectories(target.getParent());
            Files.write(target, planted);
        }
    }
}
