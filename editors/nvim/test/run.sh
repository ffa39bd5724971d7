#!/bin/bash
# Drives a real Neovim and the real server. install.sh first.
#   run.sh [PATTERN]     only the headless tests whose names hold PATTERN
# AGENTLS_BIN: the server (bin/agentls of this repository); NVIM: the editor (those that install.sh unpacked).
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
AGENTLS_BIN=$(realpath -m "${AGENTLS_BIN:-$root/bin/agentls}")
export AGENTLS_BIN
editors=("${NVIM:-$root/.deps/nvim-0.12/nvim}")
[ -n "${NVIM:-}" ] || editors+=("$root/.deps/nvim-0.10/nvim")

for program in "$AGENTLS_BIN" "${editors[@]}" node tmux; do
  command -v "$program" >/dev/null || { echo "run.sh: $program is missing; run make build and $here/install.sh" >&2; exit 2; }
done

scratch=$(mktemp -d)
child=
finish() {
  [ -z "$child" ] || kill "$child" 2>/dev/null
  rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 130' INT TERM

# In the background, so that a signal reaches this script at once.
run() {
  "$@" </dev/null &
  child=$!
  wait $child || status=1
  child=
}

# Built before HOME is another one, where Go has no cache.
auditcheck=$scratch/auditcheck
(cd "$root" && go build -o "$auditcheck" ./agent/agenttest/auditcheck) || exit 2

status=0
export HOME=$scratch XDG_STATE_HOME=$scratch XDG_CONFIG_HOME=$scratch TMPDIR=$scratch AGENTLS_TEST_KEEP=1
for NVIM in "${editors[@]}"; do
  export NVIM
  echo "# $("$NVIM" --version | head -1)"
  run timeout 600 "$NVIM" --clean -l "$here/run.lua" "$@"
done
if [ $# -eq 0 ]; then
  export NVIM=${editors[0]}
  run "$here/tmux_test.sh"
  readarray -d "" states < <(find "$scratch" -path "*/state/agentls" -prune -print0)
  run "$auditcheck" "${states[@]}"
fi
exit $status
