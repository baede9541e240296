#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shell scripts parse, start with the right line, stop at errors, and pass shellcheck where it is installed.
set -euo pipefail
# shellcheck source=tests/style/report.sh
. "$(dirname "$0")/report.sh"

mapfile -t scripts < <(script_files)
for file in "${scripts[@]}"; do
  bash -n "$file" || found "$file" 1 script-syntax "bash -n finds a syntax error, see above"
  # Files without a first #! line are sourced and take the options of the script that sources them.
  if head -n 1 "$file" | grep -q '^#!'; then
    head -n 1 "$file" | grep -qxF '#!/usr/bin/env bash' || found "$file" 1 script-first-line "starts with #!/usr/bin/env bash"
    grep -qE '^set -euo pipefail$' "$file" || found "$file" 1 script-strict 'has no "set -euo pipefail"'
  fi
done
if [ ${#scripts[@]} -gt 0 ] && command -v shellcheck >/dev/null; then
  { shellcheck --external-sources --severity=warning --format=gcc -- "${scripts[@]}" || true; } |
    while IFS=: read -r file line _ text; do
      found "$file" "$line" shellcheck "${text# }"
    done
fi
finish scripts
