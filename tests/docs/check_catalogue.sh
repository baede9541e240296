#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/variants.md and docs/pictures/ are what the command makes of the declarations.
# Arguments: the fovea command, the folder of the pages, a scratch folder.
set -euo pipefail
fovea=$1 docs=$2 scratch=$3
rm -rf "$scratch"
"$fovea" catalogue --out "$scratch" --more "$docs/model-presets.md"
rc=0
diff -r "$scratch/pictures" "$docs/pictures" || rc=1
diff "$scratch/variants.md" "$docs/variants.md" || rc=1
[ "$rc" -eq 0 ] || {
  echo "docs/variants.md is older than the declarations; run: bash scripts/update-docs.sh, and commit what changes"
  exit 1
}
