#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A page of `fovea report` in a real browser: no error of a script, nothing wider than the window at 1280 and 400 pixels,
# in light and dark. Pictures and a print stay in the folder OUT.
# Arguments: the fovea command, this folder (rows.json, tuning.jsonl), OUT, chromium (empty: not installed).
set -euo pipefail
[ $# -eq 4 ] || {
  echo "usage: report_in_a_browser.sh FOVEA FOLDER OUT CHROMIUM"
  exit 2
}
fovea=$1 here=$2 out=$3 chromium=$4
if [ -z "$chromium" ]; then
  echo "skipped: chromium is not installed (scripts/setup.sh does it)"
  exit 0
fi
rm -rf "$out"
mkdir -p "$out"
cd "$out"
"$fovea" report "$here/rows.json" --tuning "$here/tuning.jsonl" --target x86-avx2 --out report.html

# The page says what it looks like to a copy of itself with a probe; the page as such has no script.
cat >probe.txt <<'PROBE'
<script>
window.addEventListener("error", e => document.documentElement.dataset.error = e.message);
window.addEventListener("load", () => {
  const page = document.scrollingElement, wide = [];
  for (const e of document.querySelectorAll("body *")) {
    const box = e.getBoundingClientRect();
    if (box.right > innerWidth + 1 && !e.closest(".wide")) wide.push(e.tagName + "." + e.getAttribute("class"));
  }
  parent.postMessage(JSON.stringify({
    width: innerWidth, scroll: page.scrollWidth, height: page.scrollHeight,
    dark: matchMedia("(prefers-color-scheme: dark)").matches, error: document.documentElement.dataset.error || "",
    wide: wide.slice(0, 5), sections: document.querySelectorAll("section").length,
    figures: document.querySelectorAll("figure svg").length }), "*");
});
</script>
PROBE
sed '/<head>/r probe.txt' report.html >probed.html

# In a frame, because a window of a browser has a least width.
show() {
  local scheme=$1 width=$2 height=$3 page=$4
  shift 4
  printf '<!DOCTYPE html><html><head><title>none</title><style>*{margin:0;border:0}iframe{display:block}</style><script>onmessage = e => { document.title = e.data; }</script></head><body><iframe src="%s" width="%s" height="%s"></iframe></body></html>\n' \
    "$page" "$width" "$height" >frame.html
  # preferredColorScheme: 0 dark, 1 light.
  timeout 100 "$chromium" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --disable-dev-shm-usage --no-first-run \
    --user-data-dir="$out/profile" --allow-file-access-from-files --virtual-time-budget=2000 \
    --blink-settings=preferredColorScheme="$([ "$scheme" = dark ] && echo 0 || echo 1)" \
    --window-size="$width,$height" "$@" "file://$out/frame.html" 2>>browser.log
}

wrong=0
for scheme in light dark; do
  for width in 1280 400; do
    answer=$(show $scheme $width 900 probed.html --dump-dom | sed -n 's#.*<title>\(.*\)</title>.*#\1#p' | head -n 1)
    echo "$scheme $width: $answer"
    field() { sed -nE "s/.*\"$1\":(\"[^\"]*\"|[^,}]*|\[[^]]*\]).*/\1/p" <<<"$answer"; }
    complain() {
      echo "  wrong: $*"
      wrong=1
    }
    [ "$(field width)" = "$width" ] || complain "the frame is $(field width) wide"
    [ -n "$(field scroll)" ] && [ "$(field scroll)" -le "$width" ] || complain "the page is wider than the window"
    [ "$(field wide)" = "[]" ] || complain "elements are wider than the window"
    [ "$(field error)" = '""' ] || complain "a script failed"
    [ "$(field dark)" = "$([ $scheme = dark ] && echo true || echo false)" ] || complain "the scheme is not $scheme"
    [ "$(field sections)" = 9 ] || complain "$(field sections) sections instead of 9"
    [ "$(field figures)" -ge 10 ] || complain "only $(field figures) pictures"
    show $scheme $width "$(field height)" report.html --screenshot="$out/$scheme-$width.png"
    [ -s "$out/$scheme-$width.png" ] || complain "no picture was made"
  done
done
timeout 100 "$chromium" --headless=new --no-sandbox --disable-gpu --no-first-run --user-data-dir="$out/profile" \
  --no-pdf-header-footer --print-to-pdf="$out/report.pdf" "file://$out/report.html" 2>>browser.log
[ -s report.pdf ] || {
  echo "no print was made"
  wrong=1
}
if grep 'CONSOLE' browser.log; then
  echo "the browser complains"
  wrong=1
fi
rm -rf profile frame.html probe.txt probed.html
[ $wrong -eq 0 ] || exit 1
echo "pictures: $out"
