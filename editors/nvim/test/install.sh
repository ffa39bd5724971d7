#!/bin/bash
# Gets what the Neovim tests need: tmux and patchelf from this system's own packages, and Neovim 0.12 from Debian
# sid, unpacked with its own libc into <repository>/.deps/nvim-0.12. Needs root and apt on a Debian; the system's
# libraries and sources stay as they are. Does nothing when all of it is there.
#   install.sh          prints the path of the nvim to run
#   NVIM=path run.sh    is the way for other systems: any Neovim 0.12 or newer will do
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
dir=$root/.deps/nvim-0.12
nvim=$dir/nvim
suite=sid

die() { echo "install.sh: $*" >&2; exit 1; }

updated=
apt_update() { # once; a foreign source that is down must not stop us
  [ -n "$updated" ] || apt-get update -qq >&2 || echo "install.sh: apt-get update had errors, going on" >&2
  updated=1
}
need() { # PROGRAM, of the package with the same name
  command -v "$1" >/dev/null && return
  apt_update
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >/dev/null || die "cannot install $1"
}

command -v apt-get >/dev/null || die "no apt here; install Neovim 0.12 and tmux yourself and set NVIM"
need tmux
if ! "$nvim" --version >/dev/null 2>&1; then
  need patchelf
  keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  [ -r $keyring ] || die "$keyring is missing: not a Debian; install Neovim 0.12 yourself and set NVIM"
  mirrors() { apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian'; }
  mirror=$(mirrors | head -1)
  [ -n "$mirror" ] || { apt_update; mirror=$(mirrors | head -1); }
  [ -n "$mirror" ] || die "apt's configuration names no Debian mirror"

  rm -rf "$dir"
  apt=$dir/apt tree=$dir/root
  mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$tree"
  # An empty dpkg status makes apt fetch the whole closure, libc included.
  : >"$apt/status"
  echo "deb [signed-by=$keyring] $mirror $suite main" >"$apt/sources.list"
  options=(-o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$apt/lists"
    -o Dir::State::status="$apt/status" -o Dir::Cache::archives="$apt/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
    -o Acquire::Languages=none -o APT::Sandbox::User=root -o Debug::NoLocking=1)
  apt-get "${options[@]}" update -qq >&2
  apt-get "${options[@]}" install -y -qq --no-install-recommends --download-only neovim >"$apt/log" 2>&1 ||
    { cat "$apt/log" >&2; die "cannot download neovim from $suite"; }
  for deb in "$apt"/archives/*.deb; do dpkg -x "$deb" "$tree"; done
  rm -rf "$apt"

  # The loader and the libraries of the tree, not the system's. Not by `ld.so --library-path`: the TUI starts
  # v:progpath again, which would be the loader then.
  binary=$tree/usr/bin/nvim
  loader=$(find "$tree" -name "$(basename "$(patchelf --print-interpreter "$binary")")" | head -1)
  libraries=$(dirname "$(find "$tree" -name 'libc.so.6' | head -1)")
  [ -n "$loader" ] && [ -n "$libraries" ] || die "the unpacked tree has no loader or no libc"
  patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$libraries" "$binary"
  printf '#!/bin/sh\nVIMRUNTIME=%q exec %q "$@"\n' "$tree/usr/share/nvim/runtime" "$binary" >"$nvim"
  chmod +x "$nvim"
fi
"$nvim" --clean --headless -c 'if !has("nvim-0.12") | cquit | endif' -c quitall 2>/dev/null || die "$nvim is no Neovim 0.12"
echo "$nvim"
