/** Mooncake's GPU tier: device memory and copies through the CUDA runtime. */
module io.mooncake.cuda {
    requires transitive io.mooncake.core;
    requires org.jctools.core.jdk11;
    requires org.slf4j;

    exports io.mooncake.cuda;
}
