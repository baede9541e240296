#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the fovea command and makes docs/variants.md and docs/pictures/ anew from the declarations.
# Environment: FOVEA_PRESET (ci) is the CMake preset.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
# shellcheck source=scripts/steps.sh
. "$root/scripts/steps.sh"
preset=${FOVEA_PRESET:-ci}
bash "$root/scripts/setup.sh"
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
step "Configuring preset $preset" cmake --preset "$preset"
step "Building the fovea command" cmake --build --preset "$preset" --target fovea
# A variant that is gone leaves no picture behind.
rm -rf docs/pictures
"build/$preset/bin/fovea" catalogue --out docs --more docs/model-presets.md
git status --short docs
