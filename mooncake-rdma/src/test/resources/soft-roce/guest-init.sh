#!/bin/busybox sh
# The guest's side of soft-roce-vm.sh. Runs twice: as /init of the initramfs (stage 1: modules, root file system), then as
# process 1 on the root file system (stage 2: RDMA devices, the command, power off). Settings are in the shell file conf,
# which the host writes for each run.

# With the seconds since boot, on the console.
note() {
    read -r up _ < /proc/uptime
    echo "rig: $up $*"
}

die() {
    note "FATAL: $*"
    poweroff -f
}

mount_9p() { # TAG FOLDER OPTIONS
    mount -t 9p -o "trans=virtio,version=9p2000.L,msize=512000,$3" "$1" "$2" || die "cannot mount $1 on $2"
}

stage1() {
    PATH=/rig/bin
    export PATH
    /rig/bin/busybox --install -s /rig/bin
    mkdir -p /proc /sys /dev /lower /rw /new /rig/run
    mount -t proc proc /proc
    mount -t sysfs sys /sys
    mount -t devtmpfs dev /dev 2>/dev/null
    echo 1 > /proc/sys/kernel/printk
    while read -r module; do
        case $module in
            dummy.ko) insmod "/rig/modules/$module" numdummies=0 ;;
            *) insmod "/rig/modules/$module" ;;
        esac || note "insmod $module failed"
    done < /rig/modules.list
    mount_9p rigrun /rig/run cache=none
    . /rig/run/conf

    # The host's root below, memory above; host files that the guest changes change in the guest only.
    mount_9p rigroot /lower ro,cache=loose
    mount -t tmpfs -o size=50% rw /rw
    mkdir /rw/up /rw/work
    mount -t overlay -o "lowerdir=/lower,upperdir=/rw/up,workdir=/rw/work,index=off,metacopy=off" root /new || die overlay
    mkdir -p /new/proc /new/sys /new/dev /new/run
    mount -t proc proc /new/proc
    mount -t sysfs sys /new/sys
    mount --move /dev /new/dev
    mkdir -p /new/dev/pts /new/dev/shm
    mount -t devpts devpts /new/dev/pts
    mount -t tmpfs -o mode=1777 shm /new/dev/shm
    mount -t tmpfs -o mode=755 run /new/run
    ln -snf /proc/self/fd /new/dev/fd
    ln -snf /proc/self/fd/0 /new/dev/stdin
    ln -snf /proc/self/fd/1 /new/dev/stdout
    ln -snf /proc/self/fd/2 /new/dev/stderr
    mkdir -p /new/run/rig/bin /new/run/rig/run
    cp /rig/bin/busybox /rig/bin/init /new/run/rig/bin/
    i=0
    while [ "$i" -lt "$SHARES" ]; do
        eval "folder=\$SHARE_$i"
        mkdir -p "/new$folder"
        mount_9p "rigshare$i" "/new$folder" cache=mmap
        i=$((i + 1))
    done
    mount --move /rig/run /new/run/rig/run
    umount /proc /sys 2>/dev/null
    exec switch_root /new /run/rig/bin/busybox sh /run/rig/bin/init stage2
}

# busybox's shell would take its own ip, which knows neither veth nor rules with iif.
ip() {
    for tool in /usr/sbin/ip /sbin/ip /usr/bin/ip /bin/ip; do
        [ ! -x $tool ] || { $tool "$@"; return; }
    done
}

soft_roce() { # DEVICE INTERFACE
    ip link set "$2" mtu "$MTU" up
    rdma link add "$1" type rxe netdev "$2" || note "rdma link add $1 on $2 failed"
}

# Both ends of a veth pair in one network namespace (rxe listens in the first one only), with routes by source, so that
# frames between the two addresses really cross it.
pair() {
    ip link add rnic0 type veth peer name rnic1
    echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter
    for i in 0 1; do
        ip addr add "10.77.0.$((i + 1))/24" dev rnic$i
        for setting in accept_local=1 rp_filter=0 arp_ignore=1 arp_announce=2; do
            echo "${setting#*=}" > "/proc/sys/net/ipv4/conf/rnic$i/${setting%=*}"
        done
    done
    soft_roce rxe0 rnic0
    soft_roce rxe1 rnic1
    ip rule add pref 10 iif rnic0 lookup local
    ip rule add pref 11 iif rnic1 lookup local
    ip route add 10.77.0.2/32 dev rnic0 src 10.77.0.1 table 101
    ip route add 10.77.0.1/32 dev rnic1 src 10.77.0.2 table 102
    ip rule add pref 20 iif lo from 10.77.0.1 to 10.77.0.2 lookup 101
    ip rule add pref 21 iif lo from 10.77.0.2 to 10.77.0.1 lookup 102
    ip rule add pref 30 lookup local
    ip rule del pref 0
    ip neigh replace 10.77.0.2 lladdr "$(cat /sys/class/net/rnic1/address)" dev rnic0 nud permanent
    ip neigh replace 10.77.0.1 lladdr "$(cat /sys/class/net/rnic0/address)" dev rnic1 nud permanent
}

network() {
    ip link set lo up
    echo "$BACKLOG" > /proc/sys/net/core/netdev_max_backlog
    case $NET in
        dummy)
            ip link add rnic0 type dummy
            ip addr add 10.77.0.1/24 dev rnic0
            soft_roce rxe0 rnic0
            ;;
        pair) pair ;;
        vm)
            ip link set eth0 down 2>/dev/null
            ip link set eth0 name rnic0
            ip addr add "$IP" dev rnic0
            soft_roce rxe0 rnic0
            ;;
    esac
}

# Ends what the command left running, since it may hold the output open.
end_leftovers() { # the two processes that hand the output on
    for signal in TERM KILL; do
        n=0
        while [ $n -lt 5 ] && { kill -0 "$1" || kill -0 "$2"; } 2>/dev/null; do
            n=$((n + 1))
            usleep 40000
        done
        for folder in /proc/[0-9]*; do
            case ${folder#/proc/} in
                1 | "$1" | "$2") ;;
                *) ! readlink "$folder/exe" > /dev/null 2>&1 || kill -$signal "${folder#/proc/}" 2>/dev/null ;;
            esac
        done
    done
}

stage2() {
    PATH=/run/rig/bin
    /run/rig/bin/busybox --install -s /run/rig/bin
    # The root's own tools first, busybox's where it lacks them.
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/rig/bin
    export PATH
    . /run/rig/run/conf
    hostname soft-roce
    echo "$HUGEPAGES" > /proc/sys/vm/nr_hugepages
    echo 0 > /proc/sys/kernel/hung_task_timeout_secs 2>/dev/null
    network
    mkfifo /run/rig/out /run/rig/err
    for port in /sys/class/virtio-ports/vport*; do
        read -r name < "$port/name"
        case $name in
            rig.out) out=/dev/${port##*/} ;;
            rig.err) err=/dev/${port##*/} ;;
        esac
    done
    cat < /run/rig/out > "$out" &
    outs=$!
    cat < /run/rig/err > "$err" &
    errs=$!
    note "the command starts"
    ulimit -l "$MEMLOCK"
    ulimit -n 65536
    ulimit -c 0
    setsid bash /run/rig/run/command < /dev/null > /run/rig/out 2> /run/rig/err
    status=$?
    note "the command ended with $status"
    end_leftovers $outs $errs
    wait $outs $errs
    echo $status > /run/rig/run/status
    sync
    usleep 50000
    poweroff -f
}

case $1 in
    stage2) stage2 ;;
    *) stage1 ;;
esac
