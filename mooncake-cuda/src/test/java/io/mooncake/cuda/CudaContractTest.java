package io.mooncake.cuda;

import io.mooncake.cuda.CudaRig.Place;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.TransferEngineContract;
import org.junit.jupiter.api.Nested;

/** The CUDA engine keeps the contract in every direction, over the emulated runtime, with copies that end at once and late. */
class CudaContractTest {
    private static EngineRig rig(Place from, Place to) {
        EmulatedCuda.reset(2);
        return new CudaRig(from, to);
    }

    @Nested
    class FromDeviceToHost extends TransferEngineContract {
        @Override
        protected EngineRig rig() {
            return CudaContractTest.rig(Place.DEVICE_0, Place.HOST);
        }
    }

    @Nested
    class FromDeviceToPinned extends TransferEngineContract {
        @Override
        protected EngineRig rig() {
            return CudaContractTest.rig(Place.DEVICE_0, Place.PINNED);
        }
    }

    @Nested
    class FromHostToDevice extends TransferEngineContract {
        @Override
        protected EngineRig rig() {
            return CudaContractTest.rig(Place.HOST, Place.DEVICE_1);
        }
    }

    @Nested
    class FromPinnedToDevice extends TransferEngineContract {
        @Override
        protected EngineRig rig() {
            return CudaContractTest.rig(Place.PINNED, Place.DEVICE_0);
        }
    }

    @Nested
    class InsideADevice extends TransferEngineContract {
        @Override
        protected EngineRig rig() {
            return CudaContractTest.rig(Place.DEVICE_1, Place.DEVICE_1);
        }
    }

    @Nested
    class ToAPeer extends TransferEngineContract {
        @Override
        protected EngineRig rig() {
            return CudaContractTest.rig(Place.DEVICE_1, Place.DEVICE_0);
        }
    }

    @Nested
    class ToADeviceThatIsNotReached extends TransferEngineContract {
        @Override
        protected EngineRig rig() {
            EmulatedCuda.reset(2);
            EmulatedCuda.noPeer(0, 1);
            return new CudaRig(Place.DEVICE_0, Place.DEVICE_1);
        }
    }

    @Nested
    class WithCopiesThatEndLate extends TransferEngineContract {
        @Override
        protected EngineRig rig() {
            EmulatedCuda.reset(2);
            EmulatedCuda.strict();
            EmulatedCuda.delay(100, 4000);
            return new CudaRig(Place.DEVICE_0, Place.PINNED);
        }
    }
}
