#!/usr/bin/env bash
# Tries the README on a machine with nothing on it: a Debian 12 root made by
# debootstrap, in which the working tree's last commit is cloned and both commands run
# as root, then the installed package is used from outside of the checkout.
#
#   scripts/bare_machine_check.sh [--keep] [--root DIR] [--steps demo,gemma3,test,install]
#
# Needs root (chroot, mounts), debootstrap, and the network: Debian's mirror and PyPI.
# The root takes about 8 GB in DIR (default: a temporary folder, removed at the end).
# LLMC_APT_SOURCES names a folder of apt files to use instead of deb.debian.org, where
# a mirror is nearer. Prints one line a step with its time.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

keep= target= steps=demo,gemma3,test,install
while [ $# -gt 0 ]; do
  case $1 in
  --keep) keep=1 ;;
  --root) target=${2:?--root needs a folder}; shift ;;
  --steps) steps=${2:?--steps needs a list}; shift ;;
  *) die "unknown option $1; see the head of $0" ;;
  esac
  shift
done
[ "$(id -u)" -eq 0 ] || die "chroot needs root"
command -v debootstrap >/dev/null \
  || { apt-get update -q >&2 && apt-get install -y -q --no-install-recommends debootstrap >&2; } \
  || die "debootstrap is not here and could not be installed"
[ -z "$(git -C "$root" status --porcelain)" ] \
  || say "the tree has changes that are not committed; the last commit is what is tried"

made=
if [ -z "$target" ]; then
  target=$(mktemp -d "${TMPDIR:-/var/tmp}/llmc-bare.XXXXXX")
  made=1
fi
[ -z "$(ls -A "$target" 2>/dev/null)" ] || die "$target is not empty"

finish() {
  for place in proc sys dev/pts dev; do
    mountpoint -q "$target/$place" && umount "$target/$place"
  done
  # Never remove through a mount that is still there.
  if [ -z "$keep" ] && ! grep -q " $target/" /proc/mounts; then
    if [ -n "$made" ]; then rm -rf --one-file-system "$target"; else rm -rf --one-file-system "${target:?}"/*; fi
  fi
}
trap finish EXIT

inside() {
  chroot "$target" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    LANG=C.UTF-8 TERM=dumb "$@"
}

step() {
  local name=$1 begin=$SECONDS
  shift
  if "$@" >"$target.$name.log" 2>&1; then
    printf '%-10s ok    %5d s\n' "$name" $((SECONDS - begin))
    rm -f "$target.$name.log"
  else
    printf '%-10s FAILED after %d s; the end of %s:\n' "$name" $((SECONDS - begin)) "$target.$name.log"
    tail -30 "$target.$name.log"
    exit 1
  fi
}

bootstrap() {
  debootstrap --variant=minbase --include=ca-certificates bookworm "$target" \
    "${LLMC_DEBIAN_MIRROR:-http://deb.debian.org/debian}"
  mount --bind /dev "$target/dev"
  mount --bind /dev/pts "$target/dev/pts"
  mount -t proc proc "$target/proc"
  mount -t sysfs sysfs "$target/sys"
  cp /etc/resolv.conf "$target/etc/resolv.conf"
  # What a default installation has beside the main suite; minbase writes only that one.
  cat >"$target/etc/apt/sources.list" <<'LIST'
deb http://deb.debian.org/debian bookworm main
deb http://deb.debian.org/debian bookworm-updates main
deb http://deb.debian.org/debian-security bookworm-security main
LIST
  if [ -n "${LLMC_APT_SOURCES:-}" ]; then
    rm "$target/etc/apt/sources.list"
    cp -r "$LLMC_APT_SOURCES"/. "$target/etc/apt/"
  fi
  # Certificates and pip settings of this machine: without them neither of its proxies works.
  if [ -d /usr/local/share/ca-certificates ]; then
    mkdir -p "$target/usr/local/share/ca-certificates"
    cp -rL /usr/local/share/ca-certificates/. "$target/usr/local/share/ca-certificates/"
  fi
  cp /etc/ssl/certs/ca-certificates.crt "$target/etc/ssl/certs/ca-certificates.crt"
  [ ! -f /etc/pip.conf ] || cp /etc/pip.conf "$target/etc/pip.conf"
}

clone() {
  # A user has git; everything else is what the scripts install.
  inside apt-get update -q
  inside env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends git
  git clone -q --no-hardlinks "$root" "$target/root/llmc"
}

# The demo must print text of the model, not just end well.
demo() {
  inside bash -c 'cd /root/llmc && scripts/demo.sh "$@"' demo "$@" 2>&1 | tee "$target/root/demo.txt"
  grep -q "^memory total" "$target/root/demo.txt"
}

installed() {
  inside bash -ec 'cd /root/llmc
    cmake --install build/release --prefix /opt/llmc
    mv /root/llmc /root/away                       # nothing may come from the checkout
    /opt/llmc/bin/llmc --version
    /opt/llmc/bin/llmc-opt /root/away/build/models/SmolLM2-135M-Instruct.Q4_1.gguf --target=cpu -o /root/smollm2
    /opt/llmc/bin/llmc run /root/smollm2 --prompt "What is the capital of France?" --temperature 0 --max-tokens 16
    cp -r /root/away/examples /root/examples
    for example in /root/examples/*/CMakeLists.txt; do
      folder=$(dirname "$example")
      cmake -S "$folder" -B "$folder/build" -G Ninja -DCMAKE_PREFIX_PATH=/opt/llmc \
        -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 -DCMAKE_BUILD_TYPE=Release
      cmake --build "$folder/build"
    done'
  inside bash -ec 'ls /root/examples/*/build'
}

step bootstrap bootstrap
step clone clone
for name in ${steps//,/ }; do
  case $name in
  demo) step demo demo ;;
  gemma3) step gemma3 demo --model gemma3 ;;
  test) step test inside bash -c 'cd /root/llmc && scripts/test.sh' ;;
  install) step install installed ;;
  *) die "unknown step $name" ;;
  esac
done
say "all steps passed"
