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
for model in smollm2 gemma3; do
  (published_model "$model") >/dev/null \
    || say "$model could not be had: tests of it will be reported as unsupported"
done
(cd "$root" && ctest --preset release) || die "tests failed"

if [ "${1:-}" != --fast ]; then
  say "sanitizers: readers, front end and runtime"
  build_preset asan
  (cd "$root" && ctest --preset asan) || die "tests under sanitizers failed"
  say "hostile input: some thousand executions of every fuzz target"
  LLMC_FUZZ_BUILD=$root/build/asan "$root/scripts/fuzz.sh" short || die "a fuzz target failed"
fi
say "all passed in $SECONDS s"
