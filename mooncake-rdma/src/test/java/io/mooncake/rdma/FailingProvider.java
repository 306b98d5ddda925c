package io.mooncake.rdma;

import io.mooncake.rdma.verbs.Provider;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Set;

/** A provider of which one call fails: the n-th of those that make something or change a queue pair. */
final class FailingProvider {
    private static final int ENOMEM = 12;
    private static final Set<String> MAKING = Set.of("openDevice", "queryDevice", "queryPort", "allocPd",
            "createCompChannel", "eventFd", "createCq", "regMr", "createQp", "modifyQp");

    private final Provider real;
    private final int failing;
    private int calls;
    private String failed = "";

    /**
     * Wraps one.
     *
     * @param real does everything else
     * @param failing number of the call that fails, from 0
     */
    FailingProvider(Provider real, int failing) {
        this.real = real;
        this.failing = failing;
    }

    /** What failed; empty while nothing did. */
    String failed() {
        return failed;
    }

    Provider asProvider() {
        return (Provider) Proxy.newProxyInstance(Provider.class.getClassLoader(), new Class<?>[]{Provider.class},
                (self, method, arguments) -> {
                    if (MAKING.contains(method.getName()) && calls++ == failing) {
                        failed = method.getName();
                        return refusal(method);
                    }
                    try {
                        return method.invoke(real, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private static Object refusal(Method method) {
        return method.getReturnType() == long.class ? (Object) (long) -ENOMEM : (Object) (-ENOMEM);
    }
}
