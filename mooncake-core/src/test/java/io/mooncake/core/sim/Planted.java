package io.mooncake.core.sim;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.MethodModel;
import java.lang.classfile.MethodTransform;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Loads the library and the simulator anew with some methods rewritten: a bug is planted without a seam in the code that is shipped.
 */
final class Planted extends ClassLoader {
    private static final String CORE = "io.mooncake.core.";
    /** The tests' own helpers name types of the library: they are loaded with it. */
    private static final String TESTING = "io.mooncake.testing.";

    private final Map<String, CodeTransform> rewrites = new TreeMap<>();
    private final List<String> done = new ArrayList<>();

    Planted() {
        super(Planted.class.getClassLoader());
    }

    /** Has a method of a class below {@code io.mooncake.core} rewritten. */
    Planted rewrite(String type, String method, CodeTransform how) {
        rewrites.put(CORE + type + "." + method, how);
        return this;
    }

    /** Has a method answer the same always. */
    Planted answers(String type, String method, boolean answer) {
        return rewrite(type, method, instead(code -> code.loadConstant(answer ? 1 : 0).ireturn()));
    }

    /** Has a method do nothing. */
    Planted doesNothing(String type, String method) {
        return rewrite(type, method, instead(CodeBuilder::return_));
    }

    /** Other code in place of all that was there. */
    private static CodeTransform instead(Consumer<CodeBuilder> code) {
        return new CodeTransform() {
            @Override
            public void accept(CodeBuilder builder, CodeElement element) {
                // Left out.
            }

            @Override
            public void atEnd(CodeBuilder builder) {
                code.accept(builder);
            }
        };
    }

    /** Methods that were not rewritten although they should be: none once a world has run. */
    List<String> missing() {
        return rewrites.keySet().stream().filter(method -> !done.contains(method)).toList();
    }

    /** Runs a seed with the bugs: what was found, or null. */
    LongFunction<@Nullable String> seeds() {
        try {
            @SuppressWarnings("unchecked") // the same interface of the JDK's
            LongFunction<@Nullable String> seeds = (LongFunction<@Nullable String>) loadClass(Seeds.class.getName())
                    .getDeclaredConstructor()
                    .newInstance();
            return seeds;
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("the simulator cannot be loaded anew", e);
        }
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            if (loaded != null) {
                return loaded;
            }
            return name.startsWith(CORE) || name.startsWith(TESTING) ? define(name) : super.loadClass(name, resolve);
        }
    }

    private Class<?> define(String name) throws ClassNotFoundException {
        try (InputStream in = Planted.class.getResourceAsStream("/" + name.replace('.', '/') + ".class")) {
            if (in == null) {
                throw new ClassNotFoundException(name);
            }
            byte[] bytes = rewritten(name, in.readAllBytes());
            return defineClass(name, bytes, 0, bytes.length);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private byte[] rewritten(String name, byte[] bytes) {
        if (rewrites.keySet().stream().noneMatch(method -> method.startsWith(name + "."))) {
            return bytes;
        }
        ClassFile files = ClassFile.of();
        ClassModel model = files.parse(bytes);
        return files.transformClass(model, (type, element) -> {
            CodeTransform how = element instanceof MethodModel method
                    ? rewrites.get(name + "." + method.methodName().stringValue())
                    : null;
            if (how == null) {
                type.with(element);
            } else {
                MethodModel method = (MethodModel) element;
                done.add(name + "." + method.methodName().stringValue());
                type.transformMethod(method, MethodTransform.transformingCode(how));
            }
        });
    }
}
