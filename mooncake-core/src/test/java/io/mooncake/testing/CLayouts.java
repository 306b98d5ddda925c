package io.mooncake.testing;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.PaddingLayout;
import java.nio.file.Path;
import java.util.List;

/** Compares Java's idea of C structures with that of the C compiler and headers of this machine. */
public final class CLayouts {

    private CLayouts() {}

    /**
     * Fails unless size and the offset of every named member are equal in C. Members of anonymous structures count as
     * members of what contains them, as in C.
     *
     * @param folder for the C program
     * @param header to include
     * @param layouts named by their C tags
     * @param flags for the compiler
     */
    public static void assertEqualInC(Path folder, String header, List<GroupLayout> layouts, String... flags)
            throws IOException {
        StringBuilder inJava = new StringBuilder();
        StringBuilder source = new StringBuilder("#include <stddef.h>\n#include <stdio.h>\n#include <").append(header)
                .append(">\nint main(void) {\n");
        for (GroupLayout layout : layouts) {
            String tag = layout.name().orElseThrow();
            String type = (layout instanceof java.lang.foreign.UnionLayout ? "union " : "struct ") + tag;
            inJava.append(tag).append(" size ").append(layout.byteSize()).append('\n');
            source.append("printf(\"").append(tag).append(" size %zu\\n\", sizeof(").append(type).append("));\n");
            members(layout, 0, tag, type, inJava, source);
        }
        Path program = CCompiler.compile(source.append("return 0; }\n").toString(), folder.resolve("layouts"), flags);
        Process process = new ProcessBuilder(program.toString()).redirectErrorStream(true).start();
        String inC = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertEquals(inC, inJava.toString(), "left: in C, right: in Java");
    }

    private static void members(GroupLayout group, long base, String tag, String type, StringBuilder inJava,
            StringBuilder source) {
        for (int i = 0; i < group.memberLayouts().size(); i++) {
            MemoryLayout member = group.memberLayouts().get(i);
            long offset = base + group.byteOffset(PathElement.groupElement(i));
            String name = member.name().orElse("");
            if (member instanceof PaddingLayout) {
                continue;
            }
            if (member instanceof GroupLayout anonymous && (name.isEmpty() || name.contains("anon"))) {
                members(anonymous, offset, tag, type, inJava, source);
                continue;
            }
            inJava.append(tag).append(' ').append(name).append(' ').append(offset).append('\n');
            source.append("printf(\"")
                    .append(tag)
                    .append(' ')
                    .append(name)
                    .append(" %zu\\n\", offsetof(")
                    .append(type)
                    .append(", ")
                    .append(name)
                    .append("));\n");
        }
    }
}
