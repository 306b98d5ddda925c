package io.mooncake.cuda;

import io.mooncake.cuda.runtime.CudaRuntime;
import io.mooncake.cuda.runtime.NativeRuntime;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.concurrent.Callable;

/** The runtime with something in between. */
final class RuntimeProxy {
    /** Decides what a call does. */
    interface Between {
        /**
         * In the place of a call.
         *
         * @param call its name in {@link CudaRuntime}
         * @param arguments its own
         * @param real does it
         * @return what the call answers with
         */
        Object call(String call, Object[] arguments, Callable<Object> real) throws Exception;
    }

    private RuntimeProxy() {}

    static CudaRuntime around(Between between) {
        return (CudaRuntime) Proxy.newProxyInstance(CudaRuntime.class.getClassLoader(), new Class<?>[]{
                CudaRuntime.class},
                (proxy, method, arguments) -> between.call(method.getName(),
                        arguments == null ? new Object[0] : arguments, () -> invoke(method, arguments)));
    }

    private static Object invoke(Method method, Object[] arguments) throws Exception {
        try {
            return method.invoke(NativeRuntime.INSTANCE, arguments);
        } catch (InvocationTargetException e) {
            throw new AssertionError(method.getName(), e.getCause());
        }
    }
}
