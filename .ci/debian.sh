# shellcheck shell=bash
# For scripts that get a program of another suite of Debian than this system's: it is unpacked with its own libc into a
# folder, and the system's packages, libraries and sources stay as they are. To be sourced; needs no root.

die() { echo "$(basename "$0"): $*" >&2; exit 1; }

# debian_mirror SCRATCH: the mirror that apt is configured with.
debian_mirror() {
  local found filter=('Created-By: Packages' 'Origin: Debian' 'Label: Debian')
  # The origin is known once lists were fetched; a foreign source that is down must not stop us.
  found=$(apt-get indextargets --format '$(REPO_URI)' "${filter[@]}")
  if [ -z "$found" ]; then
    local own=(-o Dir::State::lists="$1/system" -o APT::Sandbox::User=root -o Debug::NoLocking=1)
    mkdir -p "$1/system/partial"
    apt-get "${own[@]}" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= update -qq >&2 || echo "$(basename "$0"): apt-get update had errors, going on" >&2
    found=$(apt-get "${own[@]}" indextargets --format '$(REPO_URI)' "${filter[@]}")
  fi
  echo "${found%%$'\n'*}"
}

# debian_unpack DIR SUITE PACKAGE: makes DIR anew; DIR/root then is a tree of the package and of all that it needs.
debian_unpack() {
  local dir=$1 suite=$2 package=$3 keyring=/usr/share/keyrings/debian-archive-keyring.gpg program mirror
  for program in apt-get dpkg; do
    command -v $program >/dev/null || die "no $program here, so $package of Debian $suite cannot be had"
  done
  [ -r $keyring ] || die "$keyring is missing (Debian's package debian-archive-keyring), so $package of Debian $suite cannot be verified"
  rm -rf "$dir"
  local apt=$dir/apt tree=$dir/root
  mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$tree"
  mirror=$(debian_mirror "$apt")
  [ -n "$mirror" ] || die "apt's configuration names no Debian mirror"
  # An empty dpkg status makes apt fetch the whole closure, libc included.
  : >"$apt/status"
  echo "deb [signed-by=$keyring] $mirror $suite main" >"$apt/sources.list"
  local options=(-o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$apt/lists"
    -o Dir::State::status="$apt/status" -o Dir::Cache::archives="$apt/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
    -o Acquire::Languages=none -o APT::Sandbox::User=root -o Debug::NoLocking=1)
  apt-get "${options[@]}" update -qq >&2 || die "cannot read the suite $suite"
  apt-get "${options[@]}" install -y -qq --no-install-recommends --download-only "$package" >"$apt/log" 2>&1 ||
    { cat "$apt/log" >&2; die "cannot download $package of $suite"; }
  local deb
  for deb in "$apt"/archives/*.deb; do dpkg -x "$deb" "$tree"; done
  rm -rf "$apt"
}

# debian_wrap DIR PROGRAM [NAME=VALUE | FOLDER]…: makes DIR/PROGRAM, which runs the tree's program with the tree's loader
# and libraries, not the system's; with variables set, and with further folders of libraries.
debian_wrap() {
  local dir=$1 program=$2 path loader each variables=
  shift 2
  path=$(dirname "$(find "$dir/root" -name libc.so.6 -print -quit)")
  loader=$(find "$dir/root" -name 'ld-linux-*.so.*' -print -quit)
  [ -n "$loader" ] || die "the tree of $program has no loader"
  for each in "$@"; do
    case $each in
      *=*) variables+="${each%%=*}=$(printf %q "${each#*=}") " ;;
      *) path+=:$each ;;
    esac
  done
  printf '#!/bin/sh\n%sexec %q --library-path %q %q "$@"\n' "$variables" "$loader" "$path" "$dir/root/usr/bin/$program" >"$dir/$program"
  chmod +x "$dir/$program"
}
