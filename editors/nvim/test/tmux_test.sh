#!/bin/bash
# A real screen: Neovim in tmux, typed into as a person does. Screens are kept in .deps/screens.
# Needs AGENTLS_BIN and NVIM, as run.sh sets them.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
screens=$(cd "$here/../../.." && pwd)/.deps/screens
dir=$(mktemp -d)
mkdir -p "$screens" "$dir/project/.git"
passed=0 failed=0

tmux_() { tmux -L "agentls-$$" -f /dev/null "$@"; }
keys() { tmux_ send-keys -l -- "$1"; }
key() { tmux_ send-keys "$1"; }
screen() { tmux_ capture-pane -p; }

finish() {
  tmux_ kill-server 2>/dev/null
  kill "$provider" 2>/dev/null
  wait "$provider" 2>/dev/null
  [ -n "${AGENTLS_TEST_KEEP:-}" ] || rm -rf "$dir"
}
trap finish EXIT

# wait_for NAME PATTERN…: polls the screen for 15 s until each pattern matches a line; keeps it.
wait_for() {
  local name=$1 deadline=$((SECONDS + 15)) missing pattern
  shift
  while :; do
    missing=
    screen >"$screens/$name.txt"
    for pattern; do grep -Eq -- "$pattern" "$screens/$name.txt" || missing=$pattern; done
    [ -n "$missing" ] || { echo "ok screen: $name"; passed=$((passed + 1)); return 0; }
    [ $SECONDS -lt $deadline ] || break
    sleep 0.05
  done
  echo "not ok screen: $name: no $missing in"
  sed 's/^/  |/' "$screens/$name.txt"
  failed=$((failed + 1))
  return 1
}

echo "the only line" >"$dir/project/world.txt"
mkfifo "$dir/provider.in"
node "$here/../../testing/provider.mjs" "$dir/provider.log" <"$dir/provider.in" >"$dir/port" &
provider=$!
exec 9>"$dir/provider.in" # held open: the provider ends with it
until [ -s "$dir/port" ]; do kill -0 "$provider" || exit 1; sleep 0.02; done

export AGENTLS_TEST_OPTIONS AGENTLS_TEST_SCREEN=1
AGENTLS_TEST_OPTIONS=$(node -e '
  const [bin, port, mcp, log] = process.argv.slice(1);
  console.log(JSON.stringify({
    cmd: [bin],
    split: "below",
    options: {
      workspaceTrusted: true,
      provider: "test",
      providers: { test: { baseURL: `http://127.0.0.1:${port}/v1`, apiKey: "none", model: "test" } },
      mcpServers: { test: { command: process.execPath, args: [mcp, log] } },
    },
  }))' "$AGENTLS_BIN" "$(cat "$dir/port")" "$here/../../testing/mcp.mjs" "$dir/mcp.log")

cd "$dir/project" || exit 1
# start FILE: a new editor on the screen.
start() {
  HOME=$dir XDG_CONFIG_HOME=$dir/config XDG_STATE_HOME=$dir/state XDG_DATA_HOME=$dir/data XDG_CACHE_HOME=$dir/cache \
    TERM=xterm-256color LANG=C.UTF-8 tmux_ new-session -d -x 100 -y 32 "$NVIM -n -u $here/minimal_init.lua $1"
}

# quit NAME: leaves it, and looks that it is gone.
quit() {
  local deadline=$((SECONDS + 10))
  keys ':qall!'; key Enter
  while tmux_ has-session 2>/dev/null && [ $SECONDS -lt $deadline ]; do sleep 0.05; done
  if tmux_ has-session 2>/dev/null; then echo "not ok screen: $1"; failed=$((failed + 1)); else echo "ok screen: $1"; passed=$((passed + 1)); fi
}

start a.agentls.md
item=' *(~ +)?world\.(txt|md) ' # in the popup
wait_for start 'a\.agentls\.md'
keys ':lua vim.wait(10000, server_ready) print("ready")'; key Enter
wait_for ready '^ready'
key i
keys '## You'; key Enter; key Enter
keys 'See @wor'
wait_for popup-at '^See @wor *$' "$item"
keys 'kspace:'
wait_for popup-colon '^See @workspace: *$' "$item"
keys 'file:/'
wait_for popup-slash '^See @workspace:file:/ *$' "$item"
keys '/wor'
wait_for popup-path '^See @workspace:file://wor *$' "$item"
key C-n; key C-y
wait_for accepted '^See @workspace:file://world\.txt *$'
keys ' SHOW'; key Escape
keys ':Agentls send'; key Enter
wait_for answer '^Seen: the only line'
keys 'GoCALL echo {"text": "on the screen"}'; key Escape
keys ':Agentls send'; key Enter
wait_for question '2: Allow once'
keys '2'; key Enter
wait_for tool-answer '^Tool said: .*echo on the screen'
# A server that dies in the middle of a call, and comes back.
keys 'GoCALL die {}'; key Escape
keys ':Agentls send'; key Enter
wait_for die-question '2: Allow once'
keys '2'; key Enter
wait_for died 'ended: exit status 1; stderr: out of luck'
wait_for died-told 'test: connection lost: exit status 1'
wait_for back-told 'test: connected again'
keys 'GoCALL echo {"text": "after all"}'; key Escape; keys 'zz'
keys ':Agentls send'; key Enter
wait_for back-question '2: Allow once'
keys '2'; key Enter
wait_for back-answer '^Tool said: .*echo after all'
keys 'GoSLOW'; key Escape
keys ':Agentls send'; key Enter
wait_for slow 'SLOW +running: .*word' 'word10$'
keys ':Agentls cancel'; key Enter
wait_for cancelled 'SLOW +cancelled'
keys ':Agentls ask SAY in a window'; key Enter
wait_for ask '^in a window'
keys ':Agentls ask CALL edit_file {"path": "world.txt", "edits": [{"old": "only", "new": "first"}]}'; key Enter
wait_for edit-question '│-the only line' '│\+the first line' 'Change world\.txt \(\+1 −1 lines\)\?' '2: Allow once'
keys '2'; key Enter
wait_for edit-answer '^Tool said: Edited world\.txt: \+1 −1 lines'
keys ':Agentls undo'; key Enter
wait_for undo 'agentls: restored world\.txt'
quit quit

# What a user of a stock client has.
export AGENTLS_TEST_STOCK=1
start world.txt
wait_for stock-start '^the only line'
keys ':lua vim.lsp.start({ name = "agentls", cmd = vim.g.agentls.cmd, root_dir = vim.fn.getcwd(), init_options = vim.g.agentls.options })'; key Enter
keys ':lua vim.wait(10000, server_ready) print("ready")'; key Enter
wait_for stock-ready '^ready'
keys 'Vgra' # Neovim's own key since 0.11
wait_for stock-menu '1: Fix problems in selection' '2: Rewrite' '3: Explain' '4: Write tests' '5: Document' '6: Ask about this…'
keys '3'; key Enter
wait_for stock-answer '^explain world\.txt:1 *$' '^## Agent' '^Hello from the agent\.' '^the only line'
keys 'Vgra'
wait_for stock-menu-again '6: Ask about this…'
keys '6'; key Enter
wait_for stock-new '^About `world\.txt`, line 1:' '^```text' '/prompts/.*\.agentls\.md'
# A rewrite: the change is on the screen before it is in the file.
printf 'one\n\ttwo\nCALL edit_file {"path": "edit.txt", "edits": [{"old": "\\u0074wo", "new": "2"}]}\n' >edit.txt
keys ':edit edit.txt | lua vim.lsp.start({ name = "agentls", cmd = vim.g.agentls.cmd, root_dir = vim.fn.getcwd(), init_options = vim.g.agentls.options })'; key Enter
wait_for stock-edit '^CALL edit_file'
keys ':2'; key Enter
keys 'Vjgra'
wait_for stock-rewrite-menu '2: Rewrite'
keys '2'; key Enter
wait_for stock-rewrite-question 'agentls: change edit\.txt \(\+1 −1 lines\): - two → \+ 2\?' '1: Deny' '2: Allow once'
keys '2'; key Enter
wait_for stock-rewritten '^ +2 *$' '^Tool said: Edited edit\.txt'
quit stock-quit

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
