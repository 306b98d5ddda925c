package io.mooncake.rdma;

import io.mooncake.rdma.verbs.Provider;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;

/** A provider as it is, but for looking how full completion queues are: what can be taken from one without a pause was in it. */
final class CountingProvider {
    private final Provider real;
    /** Of each queue: entries, and completions taken since it was last empty. */
    private final Map<Long, int[]> queues = new HashMap<>();
    private int mostPercent;

    CountingProvider(Provider real) {
        this.real = real;
    }

    Provider asProvider() {
        return (Provider) Proxy.newProxyInstance(Provider.class.getClassLoader(), new Class<?>[]{Provider.class},
                (self, method, arguments) -> {
                    try {
                        Object result = method.invoke(real, arguments);
                        if (method.getName().equals("cqEntries")) {
                            queues.put((Long) arguments[0], new int[]{(Integer) result, 0});
                        }
                        return result instanceof Provider.DataPath path ? counting(path) : result;
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    int mostOccupiedPercent() {
        return mostPercent;
    }

    private Provider.DataPath counting(Provider.DataPath path) {
        return new Provider.DataPath() {
            @Override
            public int postSend(long qp, long wr, long bad) {
                return path.postSend(qp, wr, bad);
            }

            @Override
            public int postRecv(long qp, long wr, long bad) {
                return path.postRecv(qp, wr, bad);
            }

            @Override
            public int pollCq(long cq, int entries, long wc) {
                int taken = path.pollCq(cq, entries, wc);
                int[] queue = queues.computeIfAbsent(cq, any -> new int[]{1, 0});
                queue[1] = taken > 0 ? queue[1] + taken : 0;
                mostPercent = Math.max(mostPercent, 100 * queue[1] / queue[0]);
                return taken;
            }

            @Override
            public int requestNotify(long cq, boolean solicitedOnly) {
                return path.requestNotify(cq, solicitedOnly);
            }
        };
    }
}
