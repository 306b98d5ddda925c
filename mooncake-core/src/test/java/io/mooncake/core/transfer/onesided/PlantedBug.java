package io.mooncake.core.transfer.onesided;

import io.mooncake.core.transfer.EngineContext;

/** Faults planted into the machine, one rule overridden each: what the simulations must find. */
public enum PlantedBug {
    /** The guard is fetched together with the data, or before it. */
    GUARD_WITH_THE_DATA {
        @Override
        Rules rules() {
            return new Rules() {
                @Override
                boolean mayProve(int outstanding, int completed) {
                    return outstanding + completed > 0;
                }

                @Override
                boolean proves(long completedAt, long proofPostedAt) {
                    return true;
                }
            };
        }
    },
    /** A proof is taken for chunks that completed after it was posted. */
    GUARD_BEFORE_THE_DATA {
        @Override
        Rules rules() {
            return new Rules() {
                @Override
                boolean mayProve(int outstanding, int completed) {
                    return completed > 0;
                }

                @Override
                boolean proves(long completedAt, long proofPostedAt) {
                    return true;
                }
            };
        }
    },
    /** A guard that is posted together with the data is not held back until the data is there. */
    GUARD_NOT_HELD_BACK {
        @Override
        Rules rules() {
            return new Rules() {
                @Override
                boolean fencesProofs() {
                    return false;
                }
            };
        }
    },
    /** A chunk is posted again while its former request is outstanding. */
    POSTED_AGAIN_TOO_SOON {
        @Override
        Rules rules() {
            return new Rules() {
                @Override
                boolean endsRequests(boolean destroyed) {
                    return true;
                }
            };
        }
    },
    /** What a broken lane reported as done is trusted. */
    BROKEN_LANE_TRUSTED {
        @Override
        Rules rules() {
            return new Rules() {
                @Override
                boolean hasArrived(RequestEnd end, boolean laneIsOpen) {
                    return end == RequestEnd.OK;
                }
            };
        }
    },
    /** A completion is taken for whatever stands in its slot now. */
    STALE_COOKIE_TRUSTED {
        @Override
        Rules rules() {
            return new Rules() {
                @Override
                boolean isCurrent(long reported, long posted) {
                    return true;
                }
            };
        }
    },
    /** A read ends while requests of it are outstanding. */
    ENDED_WHILE_OUTSTANDING {
        @Override
        Rules rules() {
            return new Rules() {
                @Override
                boolean mayEnd(int outstanding) {
                    return true;
                }
            };
        }
    };

    abstract Rules rules();

    /** An engine that has it. */
    public OneSidedEngine engine(EngineContext context, Fabric fabric, OneSidedConfig config) {
        return new OneSidedEngine(context, fabric, config, rules());
    }
}
