#!/usr/bin/env bash
# Feeds the readers of files with what nobody would write (docs/Security.md).
#
#   scripts/fuzz.sh short [TARGET...]     what CI runs: the committed corpus, then some
#                                         thousand executions each; below two minutes
#   scripts/fuzz.sh long [TARGET...]      1,000,000 executions each of safetensors, gguf and
#                                         manifest, 200,000 of the others, 20,000 of inference
#                                         (a search in each) and op-library
#   scripts/fuzz.sh minimise [TARGET...]  merges first inputs and what was found into fuzz/corpus
#
# Environment: LLMC_FUZZ_BUILD, a build with LLMC_ENABLE_FUZZERS (default: build/fuzz, which is
# built); LLMC_FUZZ_WORK, where inputs that reach new code are kept (default: build/fuzz-work).
# The target op-library needs MLIR: its build is LLMC_FUZZ_COMPILER_BUILD (default:
# build/fuzz-compiler, which is built where the target is named).
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

all=(safetensors paired gguf manifest description inference target kernel-library catalogue tokenizer template)
with_compiler=(op-library)
form=${1:-}
case $form in
short | long | minimise) shift ;;
*) die "usage: scripts/fuzz.sh short|long|minimise [TARGET...]" ;;
esac
targets=("${@:-${all[@]}}")
for target in "${targets[@]}"; do
  [[ " ${all[*]} ${with_compiler[*]} " == *" $target "* ]] \
    || die "no target '$target'; there are ${all[*]} ${with_compiler[*]}"
done

build=${LLMC_FUZZ_BUILD:-$root/build/fuzz}
work=${LLMC_FUZZ_WORK:-$root/build/fuzz-work}
compiler_build=${LLMC_FUZZ_COMPILER_BUILD:-$root/build/fuzz-compiler}
needs_compiler() { [[ " ${with_compiler[*]} " == *" $1 "* ]]; }
plain=0 compiled=0
for target in "${targets[@]}"; do
  if needs_compiler "$target"; then compiled=1; else plain=1; fi
done
if [ $plain = 1 ] && [ -z "${LLMC_FUZZ_BUILD:-}" ]; then
  install_packages
  build_preset fuzz llmc-fuzzers
fi
if [ $compiled = 1 ] && [ -z "${LLMC_FUZZ_COMPILER_BUILD:-}" ]; then
  install_packages
  build_preset fuzz-compiler llmc-fuzz-op-library
fi
program() { # TARGET
  local from=$build
  ! needs_compiler "$1" || from=$compiler_build
  echo "$from/bin/llmc-fuzz-$1"
}
mkdir -p "$work"

# An input is a fault where it takes this long, this much memory or one allocation of this size.
limits=(-timeout=60 -rss_limit_mb=2048 -malloc_limit_mb=1024)

arguments() { # TARGET: of its fuzzer, in every form
  printf '%s\n' "${limits[@]}" "-artifact_prefix=$work/$1-" -print_final_stats=1 -verbosity=1
  [ -f "$root/fuzz/dict/$1.dict" ] && printf '%s\n' "-dict=$root/fuzz/dict/$1.dict"
  return 0
}

fuzz() { # TARGET RUNS MAXIMUM_SECONDS
  local target=$1 log=$work/$1.log status=0 options
  mapfile -t options < <(arguments "$target")
  mkdir -p "$work/$target"
  "$(program "$target")" "${options[@]}" -runs="$2" -max_total_time="$3" \
    "$work/$target" "$root/fuzz/corpus/$target" >"$log" 2>&1 || status=$?
  local stat='s/^stat::\([a-z_]*\): *\([0-9]*\)$/\1=\2/p' number_of_executed_units=0 \
    average_exec_per_sec=0 peak_rss_mb=0 line
  while read -r line; do
    case $line in number_of_executed_units=* | average_exec_per_sec=* | peak_rss_mb=*) local "$line" ;; esac
  done < <(sed -n "$stat" "$log")
  local coverage inputs
  coverage=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
  inputs=$(sed -n 's/.* corp: \([0-9]*\)\/.*/\1/p' "$log" | tail -1)
  printf '%-12s %9s executions %6s/s  %5s inputs  %6s edges  %5s MiB  %s\n' "$target" \
    "$number_of_executed_units" "$average_exec_per_sec" "${inputs:-0}" "${coverage:-0}" "$peak_rss_mb" \
    "$([ $status -eq 0 ] && echo "no fault" || echo "FAULT, see $log")"
  return $status
}

minimise() { # TARGET
  local target=$1 corpus=$root/fuzz/corpus/$1 merge=$work/$1-merge options reached
  mapfile -t options < <(arguments "$target")
  rm -rf "$merge"
  mkdir -p "$work/$target" "$corpus" "$merge/out"
  "$(program "$target")" "${options[@]}" -set_cover_merge=1 -max_len=16384 \
    -merge_control_file="$merge/control" "$merge/out" \
    "$work/first/$target" "$corpus" "$work/$target" >"$merge/log" 2>&1 \
    || die "merging $target failed, see $merge/log"
  # The inputs that reach most for their bytes; the rest is found again in a minute.
  reached=$(python3 "$root/fuzz/choose.py" "$merge/control" "$corpus")
  say "$target: $(find "$corpus" -type f | wc -l) inputs, $(du -sb "$corpus" | cut -f1) bytes, $reached"
}

failed=0
if [ "$form" = minimise ]; then
  python3 "$root/fuzz/make_seeds.py" "$work/first"
  for target in "${targets[@]}"; do minimise "$target"; done
  exit
fi
for target in "${targets[@]}"; do
  if [ "$form" = short ]; then
    fuzz "$target" 20000 15 || failed=1
  else
    runs=200000
    case $target in
    safetensors | gguf | manifest) runs=1000000 ;;
    inference | op-library) runs=20000 ;;
    esac
    fuzz "$target" "$runs" 0 || failed=1
  fi
done
[ $failed -eq 0 ] || die "a reader failed; the input lies in $work (docs/Security.md says what to do)"
