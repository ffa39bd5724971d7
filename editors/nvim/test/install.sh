#!/bin/bash
# Gets what the Neovim tests need: tmux and patchelf from this system's own packages, and two Neovims from other suites
# of Debian, unpacked with their own libc into <repository>/.deps: 0.12, and 0.10, the oldest that the plugin takes.
# Needs root and apt on a Debian; the system's libraries and sources stay as they are. Does nothing when all is there.
#   install.sh              prints the paths of both
#   NVIM=path run.sh        is the way for other systems: any Neovim from 0.10 on will do
set -euo pipefail
deps=$(cd "$(dirname "$0")/../../.." && pwd)/.deps

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

mirror() {
  local found
  found=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian')
  echo "${found%%$'\n'*}"
}

unpack() { # DIR SUITE: Neovim with all that it needs
  local dir=$1 suite=$2 mirror=$3 keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  [ -r $keyring ] || die "$keyring is missing: not a Debian; install Neovim yourself and set NVIM"
  rm -rf "$dir"
  local apt=$dir/apt tree=$dir/root
  mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$tree"
  # An empty dpkg status makes apt fetch the whole closure, libc included.
  : >"$apt/status"
  echo "deb [signed-by=$keyring] $mirror $suite main" >"$apt/sources.list"
  local options=(-o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$apt/lists"
    -o Dir::State::status="$apt/status" -o Dir::Cache::archives="$apt/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
    -o Acquire::Languages=none -o APT::Sandbox::User=root -o Debug::NoLocking=1)
  apt-get "${options[@]}" update -qq >&2 || die "cannot read the suite $suite"
  apt-get "${options[@]}" install -y -qq --no-install-recommends --download-only neovim >"$apt/log" 2>&1 ||
    { cat "$apt/log" >&2; die "cannot download neovim of $suite"; }
  local deb
  for deb in "$apt"/archives/*.deb; do dpkg -x "$deb" "$tree"; done
  rm -rf "$apt"

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
    mirror=$(mirror)
    [ -n "$mirror" ] || { apt_update; mirror=$(mirror); }
    [ -n "$mirror" ] || die "apt's configuration names no Debian mirror"
    unpack "$dir" "$suite" "$mirror"
    works "$dir" "$version" || die "what $suite has is no Neovim $version"
  fi
  echo "$dir/nvim"
done
