#!/usr/bin/env bash
# Everything that can be tested without a GPU: installs what is missing, builds,
# runs unit tests, the lit suite and the MLIR-free libraries under sanitizers.
#
#   scripts/test.sh [--fast]    --fast: without the sanitizer build
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

install_packages
SECONDS=0
build_preset release
say "built in $SECONDS s"
ctest --preset release --test-dir "$root/build/release" || die "tests failed"

if [ "${1:-}" != --fast ]; then
  say "sanitizers: readers, front end and runtime"
  build_preset asan
  ctest --preset asan --test-dir "$root/build/asan" || die "tests under sanitizers failed"
fi
say "all passed in $SECONDS s"
