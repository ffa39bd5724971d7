#!/bin/bash
# Gets what the Neovim tests need: tmux and patchelf from this system's own packages, and two Neovims from other suites
# of Debian, unpacked with their own libc into <repository>/.deps: 0.12, and 0.10, the oldest that the plugin takes.
# Needs root and apt on a Debian; the system's libraries and sources stay as they are. Does nothing when all is there.
#   install.sh              prints the paths of both
#   NVIM=path run.sh        is the way for other systems: any Neovim from 0.10 on will do
set -euo pipefail
repository=$(cd "$(dirname "$0")/../../.." && pwd)
deps=$repository/.deps
# shellcheck source=../../../.ci/debian.sh
. "$repository/.ci/debian.sh"

updated=
need() { # PROGRAM, of the package with the same name
  command -v "$1" >/dev/null && return
  # Once; a foreign source that is down must not stop us.
  [ -n "$updated" ] || apt-get update -qq >&2 || echo "install.sh: apt-get update had errors, going on" >&2
  updated=1
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >/dev/null || die "cannot install $1"
}

unpack() { # DIR SUITE: Neovim with all that it needs
  local dir=$1 suite=$2 tree=$1/root
  debian_unpack "$dir" "$suite" neovim

  # The loader and the libraries of the tree, not the system's. Not by `ld.so --library-path`: the TUI starts
  # v:progpath again, which would be the loader then.
  local binary=$tree/usr/bin/nvim loader libraries
  loader=$(find "$tree" -name "$(basename "$(patchelf --print-interpreter "$binary")")" -print -quit)
  libraries=$(dirname "$(find "$tree" -name libc.so.6 -print -quit)")
  [ -n "$loader" ] && [ -n "$libraries" ] || die "the tree of $suite has no loader or no libc"
  patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$libraries" "$binary"
  printf '#!/bin/sh\nVIMRUNTIME=%q exec %q "$@"\n' "$tree/usr/share/nvim/runtime" "$binary" >"$dir/nvim"
  chmod +x "$dir/nvim"
}

works() { # DIR VERSION: runs, and is that version or newer
  "$1/nvim" --clean --headless -c "if !has('nvim-$2') | cquit | endif" -c quitall >/dev/null 2>&1
}

command -v apt-get >/dev/null || die "no apt here; install Neovim, tmux and Node.js yourself and set NVIM"
need tmux
for each in "0.12 sid" "0.10 trixie"; do
  read -r version suite <<<"$each"
  dir=$deps/nvim-$version
  if ! works "$dir" "$version"; then
    need patchelf
    unpack "$dir" "$suite"
    works "$dir" "$version" || die "what $suite has is no Neovim $version"
  fi
  echo "$dir/nvim"
done
