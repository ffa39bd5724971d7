#!/bin/bash
# Gets a real provider for the tests: the server of llama.cpp from Debian sid, unpacked into <repository>/.deps.
# Needs apt on a Debian, no root. Does nothing when it is there.
#   install.sh                    prints the path of llama-server
#   LLAMA_SERVER=path go test …   is the way for other systems: any llama-server will do
set -euo pipefail
repository=$(cd "$(dirname "$0")/../../.." && pwd)
# shellcheck source=../../../.ci/debian.sh
. "$repository/.ci/debian.sh"
dir=$repository/.deps/llama.cpp

works() { "$dir/llama-server" --version >/dev/null 2>&1; }

if ! works; then
  debian_unpack "$dir" sid llama.cpp
  # One backend for the processor that runs everywhere: which others a machine has must not change a test.
  backend=
  for each in x64 armv8.0_1; do
    [ -n "$backend" ] || backend=$(find "$dir/root" -name "libggml-cpu-$each.so" -print -quit)
  done
  [ -n "$backend" ] || die "what sid has of llama.cpp has no backend for the plain processor"
  debian_wrap "$dir" llama-server "GGML_BACKEND_PATH=$backend" "$(dirname "$(find "$dir/root" -name libc.so.6 -print -quit)")/llama" "$(dirname "$backend")"
  works || die "what sid has does not run: $("$dir/llama-server" --version 2>&1 | tail -1)"
fi
"$dir/llama-server" --version 2>&1 | grep -i version >&2
echo "$dir/llama-server"
