#!/bin/bash
# Drives a real Neovim and the real server. install.sh first.
#   run.sh [PATTERN]     only the headless tests whose names hold PATTERN
# AGENTLS_BIN: the server (bin/agentls of this repository); NVIM: the editor (what install.sh unpacked).
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
AGENTLS_BIN=$(realpath -m "${AGENTLS_BIN:-$root/bin/agentls}")
NVIM=${NVIM:-$root/.deps/nvim-0.12/nvim}
export AGENTLS_BIN NVIM

for program in "$AGENTLS_BIN" "$NVIM" node tmux; do
  command -v "$program" >/dev/null || { echo "run.sh: $program is missing; run make build and $here/install.sh" >&2; exit 2; }
done

status=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
HOME=$scratch XDG_STATE_HOME=$scratch XDG_CONFIG_HOME=$scratch TMPDIR=$scratch \
  timeout 600 "$NVIM" --clean -l "$here/run.lua" "$@" </dev/null || status=1
[ $# -gt 0 ] || "$here/tmux_test.sh" || status=1
exit $status
