/**
 * Where tests tagged {@code rdma} find their device: on this machine, or in a virtual one whose kernel makes one in software
 * ({@code soft-roce/soft-roce-vm.sh} of the test resources; {@code mvn -Psoft-roce verify} runs them all in it).
 */
@NullMarked
package io.mooncake.rdma.rig;

import org.jspecify.annotations.NullMarked;
