#!/usr/bin/env bash
# Runs a command on real RDMA verbs without an RDMA card: boots Debian's kernel with Soft-RoCE (rdma_rxe) in QEMU,
# without KVM, on the host's own root file system. Debian packages only. See --help.
set -euo pipefail

readonly BAD_MACHINE=125
readonly TIMED_OUT=124
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly CACHE=${MOONCAKE_SOFT_ROCE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mooncake-soft-roce}
readonly PACKAGES="qemu-system-x86 busybox-static kmod cpio xz-utils iproute2 util-linux
    libibverbs1 ibverbs-providers"
# Without 5-level paging, which an emulated CPU is slow at, and without what a guest alone does not need.
readonly CPU=max,la57=off,erms=off,fsrm=off,smap=off,smep=off,pku=off,umip=off
readonly MACHINE=q35,usb=off,smbus=off,sata=off,vmport=off
readonly KERNEL_ARGUMENTS="console=ttyS0 quiet panic=-1 mitigations=off nokaslr nowatchdog audit=0 selinux=0 apparmor=0
    cryptomgr.notests random.trust_cpu=on no_timer_check tsc=reliable rcupdate.rcu_expedited=1 noautogroup
    clearcpuid=rep_good,erms,fsrm"
# rxe needs crc32_generic, which it does not declare.
readonly MODULES="virtio_pci virtio_console 9pnet_virtio 9p overlay virtio_net veth dummy crc32_generic
    ib_uverbs rdma_ucm rdma_rxe sch_netem"

usage() {
    cat <<'TEXT'
usage: soft-roce-vm.sh [option...] -- command [argument...]
       soft-roce-vm.sh --setup        install packages, fetch the kernel, make the initramfs, and stop
The command runs as root in a guest whose root file system is the host's, read-only, under an overlay in memory.
  --rw DIR          host folder that the guest writes through to the host, at the same path (repeatable)
  --cwd DIR         folder the command starts in (default: the current one)
  --env NAME=VALUE  environment variable of the command (repeatable); PATH, HOME, LANG and JAVA_HOME go anyway
  --net dummy       one device rxe0, 10.77.0.1 (the default)
        pair        rxe0 and rxe1, 10.77.0.1 and .2, over a veth pair, whose frames can be lost or cut
        vm          rxe0 over a card that is joined to another such machine; needs --join and --ip
        none        no device
  --join listen:PORT | connect:PORT     the two ends of that cable, on 127.0.0.1
  --ip A.B.C.D/N    the address for --net vm (default 10.77.0.1/24)
  --mtu N           of the interface below rxe (default 4200, so packets of 4096 bytes)
  --backlog N       packets that the kernel's receive queue holds (default 20000)
  --mem MIB         guest memory (default 3072)           --smp N         guest CPUs (default: all)
  --memlock N       locked memory, in KiB or unlimited (default unlimited)
  --hugepages N     huge pages of 2 MiB (default 0)       --package NAME  a Debian package more (repeatable)
  --timeout S       for the whole run (default 900)       --console FILE  the guest's console
  --pidfile FILE    QEMU's process id, to stop or kill the machine
environment: MOONCAKE_SOFT_ROCE_CACHE (default ~/.cache/mooncake-soft-roce, about 450 MB)
exit status: the command's; 124 past the time limit; 125 when the machine failed (its console's end is shown)
TEXT
}

say() { echo "soft-roce-vm: $*" >&2; }
fail() { say "$*"; exit "$BAD_MACHINE"; }

rw=() envs=() packages=() setup= net=dummy join= ip=10.77.0.1/24 mtu=4200 backlog=20000 mem=3072 smp=$(nproc)
cwd=$PWD memlock=unlimited hugepages=0 timeout=900 console= pidfile=
while [ $# -gt 0 ]; do
    case $1 in
        --help | -h) usage; exit 0 ;;
        --setup) setup=yes; shift; continue ;;
        --) shift; break ;;
        --rw) rw+=("$(realpath "$2")") ;;
        --env) envs+=("$2") ;;
        --package) packages+=("$2") ;;
        --cwd) cwd=$(realpath "$2") ;;
        --net | --join | --ip | --mtu | --backlog | --mem | --smp | --memlock | --hugepages | --timeout | --console | --pidfile)
            printf -v "${1#--}" %s "$2" ;;
        *) fail "unknown option $1 (see --help)" ;;
    esac
    shift 2
done
[ -n "$setup" ] || [ $# -gt 0 ] || { usage >&2; exit "$BAD_MACHINE"; }

apt() { DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -q "$@" >&2; }

install_packages() {
    local missing=() name
    for name in $PACKAGES "${packages[@]}"; do
        dpkg-query -W -f='${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed || missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    [ "$(id -u)" = 0 ] || fail "packages are missing; as root: apt-get install ${missing[*]}"
    apt update || say "apt-get update failed; trying with the lists that are here"
    apt install -y --no-install-recommends "${missing[@]}" || fail "cannot install ${missing[*]}"
}

# The kernel proper is unpacked here, once: an emulated CPU takes seconds for that. QEMU boots it by PVH.
fetch_kernel() {
    [ ! -e "$CACHE/vmlinux" ] || return 0
    local package version image offset
    find_package() { apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-.*\)/\1/p' | head -n 1; }
    package=$(find_package)
    if [ -z "$package" ]; then
        apt update || fail "apt-get update failed, and no linux-image-amd64 is in its lists"
        package=$(find_package)
    fi
    [ -n "$package" ] || fail "no linux-image-amd64 in apt's lists"
    say "fetching $package"
    rm -rf "$CACHE/deb" "$CACHE/kernel"
    mkdir -p "$CACHE/deb"
    (cd "$CACHE/deb" && apt download "$package") || fail "cannot download $package"
    dpkg -x "$CACHE"/deb/*.deb "$CACHE/kernel"
    rm -rf "$CACHE/deb"
    version=$(ls "$CACHE/kernel/lib/modules")
    depmod -b "$CACHE/kernel" "$version"
    image=$CACHE/kernel/boot/vmlinuz-$version
    offset=$(LC_ALL=C grep -aobP '\xfd7zXZ\x00' "$image" | head -n 1 | cut -d: -f1)
    # What follows the compressed kernel in the image is no part of it, which xz calls an error.
    tail -c "+$((offset + 1))" "$image" | xz -dc > "$CACHE/vmlinux.part" 2>/dev/null || true
    [ "$(head -c 4 "$CACHE/vmlinux.part" | tail -c 3)" = ELF ] || fail "cannot unpack $image"
    echo "$version" > "$CACHE/version"
    mv "$CACHE/vmlinux.part" "$CACHE/vmlinux"
}

# A module without its signature, which an emulated CPU takes tenths of a second to check. The signature's length is the
# big-endian word before the last 28 bytes.
copy_unsigned() {
    local length
    if [ "$(tail -c 28 "$1" | tr -d '\n')" = "~Module signature appended~" ]; then
        length=$((16#$(tail -c 32 "$1" | head -c 4 | od -An -tx1 | tr -d ' ')))
        head -c "-$((length + 40))" "$1" > "$2"
    else
        cp "$1" "$2"
    fi
}

make_initramfs() {
    local version key tree module
    version=$(cat "$CACHE/version")
    key=$({ echo "$version" $MODULES; cat "$here/guest-init.sh"; sha256sum /bin/busybox; } | sha256sum | cut -c 1-16)
    initramfs=$CACHE/initramfs-$key
    [ ! -e "$initramfs" ] || return 0
    tree=$(mktemp -d "$CACHE/tree.XXXXXX")
    mkdir -p "$tree/rig/bin" "$tree/rig/modules" "$tree/bin"
    cp /bin/busybox "$tree/rig/bin/busybox"
    ln -s /rig/bin/busybox "$tree/bin/busybox"
    install -m 755 "$here/guest-init.sh" "$tree/rig/bin/init"
    ln -s rig/bin/init "$tree/init"
    for module in $MODULES; do
        modprobe -d "$CACHE/kernel" -S "$version" --show-depends "$module" || fail "no module $module in $version"
    done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r module; do
        copy_unsigned "$module" "$tree/rig/modules/${module##*/}"
        echo "${module##*/}" >> "$tree/rig/modules.list"
    done
    (cd "$tree" && find . | cpio -o -H newc --quiet) > "$initramfs.part"
    mv "$initramfs.part" "$initramfs"
    rm -rf "$tree"
}

install_packages
mkdir -p "$CACHE"
exec 9> "$CACHE/lock"
flock 9
fetch_kernel
make_initramfs
exec 9>&-
[ -z "$setup" ] || { say "ready: Linux $(cat "$CACHE/version") in $CACHE"; exit 0; }

# ---- one run ----------------------------------------------------------------------------------------------------
run=$(mktemp -d "${TMPDIR:-/tmp}/soft-roce-vm.XXXXXX")
mkdir "$run/share"
children=()
cleanup() {
    local pid
    for pid in "${children[@]}"; do kill "$pid" 2>/dev/null || true; done
    [ -z "$pidfile" ] || rm -f "$pidfile"
    rm -rf "$run"
}
trap cleanup EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

setting() { printf '%s=%q\n' "$1" "$2"; }
{
    setting NET "$net"; setting IP "$ip"; setting MTU "$mtu"; setting BACKLOG "$backlog"
    setting MEMLOCK "$memlock"; setting HUGEPAGES "$hugepages"; setting SHARES "${#rw[@]}"
    for i in "${!rw[@]}"; do setting "SHARE_$i" "${rw[$i]}"; done
} > "$run/share/conf"
{
    for name in PATH HOME LANG LC_ALL JAVA_HOME; do
        [ -z "${!name+set}" ] || printf 'export %s=%q\n' "$name" "${!name}"
    done
    for variable in "${envs[@]}"; do printf 'export %s=%q\n' "${variable%%=*}" "${variable#*=}"; done
    printf 'cd %q || exit %d\nexec' "$cwd" "$BAD_MACHINE"
    printf ' %q' "$@"
    echo
} > "$run/share/command"

# QEMU writes the output to files, so that it never waits for a slow reader (what the guest has handed over is lost when
# the machine stops before QEMU is done), and tail hands it on.
: > "$run/out"
: > "$run/err"
console=${console:-$run/console}
: > "$console"
arguments=(-M "$MACHINE" -cpu "$CPU" -accel tcg,thread=multi -smp "$smp" -m "$mem"
    -nodefaults -no-user-config -display none -no-reboot
    -kernel "$CACHE/vmlinux" -initrd "$initramfs" -append "$(echo $KERNEL_ARGUMENTS)"
    -serial "file:$console" -device virtio-serial-pci
    -chardev "file,id=out,path=$run/out" -device virtserialport,chardev=out,name=rig.out
    -chardev "file,id=err,path=$run/err" -device virtserialport,chardev=err,name=rig.err
    -fsdev "local,id=run,path=$run/share,security_model=none" -device virtio-9p-pci,fsdev=run,mount_tag=rigrun
    -fsdev "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap"
    -device virtio-9p-pci,fsdev=root,mount_tag=rigroot)
for i in "${!rw[@]}"; do
    arguments+=(-fsdev "local,id=rw$i,path=${rw[$i]},security_model=none,multidevs=remap"
        -device "virtio-9p-pci,fsdev=rw$i,mount_tag=rigshare$i")
done
if [ "$net" = vm ]; then
    case $join in
        listen:*) cable="socket,id=cable,listen=127.0.0.1:${join#*:}" ;;
        connect:*) cable="socket,id=cable,connect=127.0.0.1:${join#*:}" ;;
        *) fail "--net vm needs --join listen:PORT or connect:PORT" ;;
    esac
    address=${ip%/*}
    arguments+=(-netdev "$cable"
        -device "virtio-net-pci,netdev=cable,host_mtu=9000,mac=52:54:00:77:00:$(printf %02x "${address##*.}")")
fi

qemu-system-x86_64 "${arguments[@]}" > "$run/qemu.log" 2>&1 < /dev/null &
qemu=$!
tail -q -c +1 -f -s 0.05 --pid="$qemu" "$run/out" &
out=$!
tail -q -c +1 -f -s 0.05 --pid="$qemu" "$run/err" >&2 &
err=$!
[ -z "$pidfile" ] || echo "$qemu" > "$pidfile"
(
    exec > /dev/null 2>&1 < /dev/null
    sleep "$timeout" &
    trap 'kill $!' TERM
    wait $! && { touch "$run/timed-out"; kill "$qemu"; sleep 5; kill -KILL "$qemu"; }
) &
watchdog=$!
children=("$qemu" "$out" "$err" "$watchdog")
ended=0
wait "$qemu" || ended=$?
kill "$watchdog" 2>/dev/null || true
wait "$out" "$err" || true
children=()

if [ -s "$run/share/status" ]; then
    exit "$(cat "$run/share/status")"
fi
if [ -e "$run/timed-out" ]; then
    say "stopped after $timeout s"
    status=$TIMED_OUT
else
    say "the machine ended without a result (QEMU's exit status $ended)"
    status=$BAD_MACHINE
fi
{ cat "$run/qemu.log"; tail -n 25 "$console"; } >&2
exit "$status"
