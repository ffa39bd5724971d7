#!/bin/bash
# Tests the extension: units on Node, then in each VS Code the extension-host tests and the UI tests, against the real
# server, real MCP servers and a scripted provider. install.sh, make build and npm ci first.
#   run.sh [FILES [NAMES]]   only test files whose names (unit/text, host/commands, ui/story) match FILES, and in them only
#                            the tests whose names match NAMES; both are regular expressions
#   VSCODE=1.139             only in this one. The older VS Code runs the story alone, where FILES is not given
#   AGENTLS_BIN              the server (bin/agentls of this repository, else of the worktree that it was made from)
#   AGENTLS_BROWSER_LOCK     a file that flock(1) locks around each browser, where several runs share a machine
# Tests that fail leave pictures, texts and logs in .deps/screens/vscode.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
extension=$(dirname "$here")
root=$(cd "$here/../../.." && pwd)
main=$(dirname "$(git -C "$root" rev-parse --path-format=absolute --git-common-dir)")
files=${1:-} names=${2:-}

die() { echo "run.sh: $*" >&2; exit 2; }

# whole PATH: of this worktree, or of the one that it was made from.
whole() { if [ -e "$root/$1" ]; then echo "$root/$1"; else echo "$main/$1"; fi; }

AGENTLS_BIN=$(realpath -m "${AGENTLS_BIN:-$(whole bin/agentls)}")
[ -x "$AGENTLS_BIN" ] || die "$AGENTLS_BIN is missing: make build"
[ -d "$extension/node_modules/playwright-core" ] || die "run npm ci in $extension first"
chromium=${CHROMIUM:-/usr/bin/chromium}
command -v "$chromium" >/dev/null || die "$chromium is missing: run $here/install.sh"

scratch=$(mktemp -d)
child=
finish() {
  [ -z "$child" ] || kill "$child" 2>/dev/null
  local try
  for try in 1 2 3 4 5; do # what VS Code started may still write for a moment
    rm -rf "$scratch" 2>/dev/null && return
    sleep "$try"
  done
}
trap finish EXIT
trap 'exit 130' INT TERM

# In the background, so that a signal reaches this script at once.
run() {
  "$@" </dev/null &
  child=$!
  local code=0
  wait $child || code=$?
  [ $code -eq 0 ] || status=1
  [ $code -le 128 ] || echo "run.sh: $1 was ended by signal $((code - 128))" >&2
  child=
}

# built KIND: the built test files of a kind that FILES is about.
built() {
  local file
  for file in "$extension/out/test/$1"/*.test.js; do
    [[ -e $file && $1/$(basename "$file" .test.js) =~ $files ]] && echo "$file"
  done
}

tests() { # [OPTION…] FILE…
  run env NODE_OPTIONS=--enable-source-maps node --test --test-concurrency=1 "$@"
}

cd "$extension" || exit 2
# Built before HOME is another one, where Go has no cache.
auditcheck=$scratch/auditcheck
(cd "$root" && go build -o "$auditcheck" ./agent/agenttest/auditcheck) || exit 2
node esbuild.mjs --production && node esbuild.mjs --tests || die "the extension does not build (npm ci, where it lacks a package)"

status=0
named=(${names:+--test-name-pattern="$names"})
export AGENTLS_BIN CHROMIUM=$chromium AGENTLS_EXTENSION=$extension AGENTLS_SCRATCH=$scratch TMPDIR=$scratch
export AGENTLS_TEST_FILES=$files AGENTLS_TEST_NAMES=$names
readarray -t units < <(built unit)
readarray -t hosts < <(cd test && for file in host/*.test.ts; do [[ -e $file && ${file%.test.ts} =~ $files ]] && echo "$file"; done)
readarray -t uis < <(built ui)
[ $((${#units[@]} + ${#hosts[@]} + ${#uis[@]})) -gt 0 ] || die "no test file has a name that matches $files"

if [ ${#units[@]} -gt 0 ]; then
  echo "# units"
  tests "${named[@]}" "${units[@]}"
fi
[ $((${#hosts[@]} + ${#uis[@]})) -gt 0 ] || exit $status

vsix=$scratch/agentls.vsix
npx --no-install vsce package --no-dependencies --allow-missing-repository --no-rewrite-relative-links --out "$vsix" >"$scratch/vsce.log" 2>&1 ||
  { cat "$scratch/vsce.log" >&2; die "the extension cannot be packed"; }

for version in 1.139 1.100; do
  [ "${VSCODE:-$version}" = $version ] || continue
  VSCODE_FOLDER=$(whole .deps/vscode-$version)
  [ -e "$VSCODE_FOLDER/.whole" ] && [ -x "$VSCODE_FOLDER/.node" ] || die "VS Code $version is missing: run $here/install.sh"
  VSCODE_NODE=$VSCODE_FOLDER/.node
  export VSCODE_FOLDER VSCODE_NODE AGENTLS_EXTENSIONS=$scratch/extensions-$version AGENTLS_SCREENS=$root/.deps/screens/vscode/$version
  mkdir -p "$AGENTLS_SCREENS" && find "$AGENTLS_SCREENS" -name "failed*" -delete
  echo "# VS Code $("$VSCODE_NODE" "$VSCODE_FOLDER/out/server-main.js" --version | head -1)"
  "$VSCODE_NODE" "$VSCODE_FOLDER/out/server-main.js" --accept-server-license-terms --server-data-dir "$scratch/install" \
    --user-data-dir "$scratch/install" --extensions-dir "$AGENTLS_EXTENSIONS" --install-extension "$vsix" >"$scratch/install.log" 2>&1 &&
    grep -q "successfully installed" "$scratch/install.log" || { cat "$scratch/install.log" >&2; die "VS Code does not install the extension"; }
  chosen=("${uis[@]}")
  if [ -z "$files" ] && [ $version = 1.100 ] && [ -z "${VSCODE:-}" ]; then
    readarray -t chosen < <(printf '%s\n' "${uis[@]}" | grep -E '/story[^/]*$')
  elif [ ${#hosts[@]} -gt 0 ]; then
    tests "$extension/out/test/host.test.js" # mocha looks at NAMES there
  fi
  [ ${#chosen[@]} -eq 0 ] || tests "${named[@]}" "${chosen[@]}"
done
if [ -z "$files" ]; then
  readarray -d "" states < <(find "$scratch" -path "*/state/agentls" -prune -print0)
  run "$auditcheck" "${states[@]}"
fi
exit $status
