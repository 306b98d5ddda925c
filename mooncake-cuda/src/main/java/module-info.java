/** Mooncake's GPU tier: device memory and copies through the CUDA runtime. */
module io.mooncake.cuda {
    requires transitive io.mooncake.core;

    exports io.mooncake.cuda;
}
