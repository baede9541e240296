#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh checkout to results: sets up, builds and installs fovea into build/install, builds the sentence-embedding
# example against it, embeds real sentences with the real model, and times one variant against a plain loop.
# Environment: FOVEA_JOBS, the number of parallel jobs.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
# shellcheck source=scripts/steps.sh
. "$root/scripts/steps.sh"
jobs=${FOVEA_JOBS:-$(nproc)}
prefix=$root/build/install
example=$root/build/examples/sentence_embedding

bash "$root/scripts/setup.sh"
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"

step "Configuring fovea (release)" cmake --preset release
# Not the tests: they are most of a whole build.
step "Building fovea with $jobs jobs" cmake --build --preset release --parallel "$jobs" \
  --target fovea fovea_dsl fovea_compiler fovea_generator
step "Installing fovea into build/install" cmake --install build/release --prefix "$prefix"

model=${FOVEA_MODEL_DIR:-}
if [ -z "$model" ]; then
  step "Getting the model all-MiniLM-L6-v2 (80 MB) into build/model" \
    bash -c 'bash examples/sentence_embedding/get_model.sh "$1" >build/model.path' _ "$root/build/model"
  model=$(<build/model.path)
fi
step "Configuring the example sentence_embedding" cmake -G Ninja -S examples/sentence_embedding -B "$example" \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" -DSENTENCE_MODEL_DIR="$model" \
  -DHalide_DIR="$FOVEA_HALIDE_ROOT/lib64/cmake/Halide" -DCMAKE_DISABLE_FIND_PACKAGE_Halide_Python=ON
step "Generating its attention library and building it" cmake --build "$example" --parallel "$jobs"

echo
show "Embedding sentences with the real model" "$example/sentence_embedding" --model "$model"
echo
show "Comparing the embeddings with PyTorch's" "$example/sentence_embedding" --model "$model" \
  --check examples/sentence_embedding/fixture/embeddings.json
echo
show "Timing one variant against a plain loop" \
  build/release/bin/fovea bench --variant causal --shape sq=1024 --threads 1 --peers plain --rounds 5
echo
echo "Done in $(total_time). Next: examples/sentence_embedding/variants.cpp is the declaration this ran on."
