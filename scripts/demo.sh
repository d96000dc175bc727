#!/usr/bin/env bash
# The main job, end to end: installs what is missing, builds llmc, compiles a
# published model (a GGUF file) to an artifact and answers a prompt.
#
#   scripts/demo.sh [--model smollm2|gemma3] [PROMPT]
#
# smollm2: SmolLM2-135M-Instruct, 98 MB, answers questions. gemma3: Gemma 3 270M,
# 253 MB, a base model, which goes on with a text.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

name=smollm2
if [ "${1:-}" = --model ]; then
  name=${2:?--model needs a name}
  shift 2
fi
case $name in
smollm2) prompt=${1:-"What is the capital of France, and what is it known for?"} flags=() ;;
gemma3) prompt=${1:-"The capital of France is"} flags=(--raw) ;;
*) die "no model '$name'; there are smollm2 and gemma3" ;;
esac
install_packages
build_preset release
bin=$root/build/release/bin
model=$(published_model "$name")
artifact=$root/build/demo/$name
mkdir -p "$root/build/demo"

say "what is it?"
"$bin/llmc" inspect "$model"

say "compiling to $artifact"
start=$(date +%s.%N)
"$bin/llmc-opt" "$model" --target=cpu -o "$artifact"
end=$(date +%s.%N)
say "compiled in $(awk "BEGIN { printf \"%.1f\", $end - $start }") s"

say "prompt: $prompt"
"$bin/llmc" run "$artifact" --prompt "$prompt" "${flags[@]}" --max-tokens 96 --temperature 0
