#!/bin/bash
# Gets what the tests in VS Code need: Chromium from this system's own packages, and two VS Codes into
# <repository>/.deps: 1.139, and 1.100, which runs on Node 20. They are the server builds that code-server ships on npm;
# with a browser before them they are the real workbench and the real extension host. Nothing is compiled.
# Needs Node 20 and npm; root and apt on a Debian only where no Chromium is in PATH and CHROMIUM is not set.
# Does nothing when all is there; half an install is made anew.
#   install.sh              prints a line for each: VERSION FOLDER, in which .node is the Node that runs it
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../../.." && pwd)
deps=$repository/.deps
# shellcheck source=../../../.ci/debian.sh
. "$repository/.ci/debian.sh"

# retried COMMAND…: three times, because registries have bad moments; not for ever, because some are gone.
retried() {
  local try
  for try in 1 2 3; do
    "$@" && return
    [ $try = 3 ] || { echo "install.sh: failed, trying again: $1" >&2; sleep $((try * 5)); }
  done
  return 1
}

browser() {
  [ -z "${CHROMIUM:-}" ] || { command -v "$CHROMIUM" >/dev/null || die "CHROMIUM names no program: $CHROMIUM"; return; }
  command -v chromium >/dev/null && return
  command -v apt-get >/dev/null || die "no chromium and no apt here: install Chromium and set CHROMIUM to its path"
  [ "$(id -u)" = 0 ] || die "chromium is missing and only root can install it: apt-get install chromium"
  # A foreign source that is down must not stop us.
  apt-get update -qq >&2 || echo "install.sh: apt-get update had errors, going on" >&2
  retried env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >&2 || die "cannot install chromium"
}

works() { # FOLDER VERSION NODE: is whole, and starts as that version
  [ -f "$1/.whole" ] && cmp -s "$here/driver/spdlog.cjs" "$1/node_modules/@vscode/spdlog/index.js" &&
    [ "$("$3" "$1/out/server-main.js" --version 2>/dev/null | head -1)" = "$2" ]
}

download() { # SCRATCH PACKAGE: leaves FOLDER of the package as SCRATCH/package
  (cd "$1" && rm -f ./*.tgz && npm pack --silent "$2" >/dev/null && tar -xzf ./*.tgz package/lib/vscode package/LICENSE)
}

unpack() { # FOLDER VERSION: makes the folder anew
  local dir=$1 version=$2 scratch=$1.new
  rm -rf "$scratch" "$dir"
  mkdir -p "$scratch"
  retried download "$scratch" "code-server@4.${version#1.}" || die "cannot get code-server 4.${version#1.} from npm"
  local tree=$scratch/package/lib/vscode
  cp "$scratch/package/LICENSE" "$tree/"
  # Extensions of others that would offer a chat of their own; parts for other systems, and parts that need a compiler.
  rm -rf "$tree"/extensions/{copilot,mermaid-markdown-features}
  retried npm install --prefix "$tree" --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error >&2 || die "cannot get what VS Code $version needs from npm"
  rm -rf "$tree"/node_modules/{@github,@microsoft/mxc-sdk,@vscode/windows-process-tree,@vscode/sqlite3,kerberos}
  cp "$here/driver/spdlog.cjs" "$tree/node_modules/@vscode/spdlog/index.js"
  touch "$tree/.whole"
  mv "$tree" "$dir"
  rm -rf "$scratch"
}

command -v npm >/dev/null || die "npm is missing: install Node.js 20 or newer"
browser
mkdir -p "$deps"
for each in "1.139.1 24.21.0" "1.100.3 20.10.0"; do
  read -r version needs <<<"$each"
  bin=$(bash "$repository/.ci/node.sh" "$needs" same)
  dir=$deps/vscode-${version%.*}
  # One at a time, where two checks run beside each other.
  exec 9>"$deps/.vscode.lock"
  flock 9
  if ! works "$dir" "$version" "$bin/node"; then
    unpack "$dir" "$version"
    works "$dir" "$version" "$bin/node" || die "what npm has does not run as VS Code $version: $("$bin/node" "$dir/out/server-main.js" --version 2>&1 | head -3)"
  fi
  ln -sfn "$bin/node" "$dir/.node"
  exec 9>&-
  echo "$version $dir"
done
