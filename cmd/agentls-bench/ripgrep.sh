#!/bin/bash
# Gets ripgrep, which search_code is measured against: Debian's, unpacked into <repository>/.deps.
# Needs apt on a Debian, no root. Does nothing when there is one. Prints its path.
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=../../.ci/debian.sh
. "$repository/.ci/debian.sh"
dir=$repository/.deps/ripgrep

if command -v rg; then exit; fi
if ! "$dir/rg" --version >/dev/null 2>&1; then
  debian_unpack "$dir" trixie ripgrep
  debian_wrap "$dir" rg
  "$dir/rg" --version >/dev/null || die "what trixie has does not run"
fi
echo "$dir/rg"
