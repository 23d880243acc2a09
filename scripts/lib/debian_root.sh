# A Debian root folder with another Mosquitto, for tests and measurements on it. Sourced by scripts/*.sh; runs nothing by
# itself; needs packages.sh.
# shellcheck shell=bash

# debian_root SUITE DIR PACKAGE...
#   Makes DIR a root of that Debian suite with those packages, from the mirror of this machine's own apt sources. A DIR that
#   an earlier call completed for the same suite and packages is left as it is: nothing is downloaded or printed.
#   Needs debootstrap, which runs as root (sudo where not root). The programs in DIR can be run without chroot, by DIR's own
#   loader. Returns 0, or 1 having said why; DIR is then not there.
debian_root() {
  local suite=$1 dir=$2 mirror
  shift 2
  local wanted="$suite $*" stamp=$dir/.complete packages=$*
  [[ -f $stamp && $(<"$stamp") == "$wanted" ]] && return 0

  need_packages debootstrap debian-archive-keyring || return 1
  local -a as_root=()
  ((EUID == 0)) || as_root=(sudo)
  mirror=$(debian_root_mirror)
  if [[ -z $mirror ]]; then
    "${as_root[@]}" apt-get -qq update </dev/null
    mirror=$(debian_root_mirror)
  fi
  if [[ -z $mirror ]]; then
    echo 'no mirror of Debian in the apt sources of this machine' >&2
    return 1
  fi
  echo "making a Debian $suite root from $mirror: $dir" >&2
  "${as_root[@]}" rm -rf "$dir" "$dir.partial"
  mkdir -p "$(dirname "$dir")"
  # debootstrap may not know the suite's name yet; all recent ones are made as sid is.
  if ! "${as_root[@]}" debootstrap --variant=minbase --include="${packages// /,}" "$suite" "$dir.partial" "$mirror" sid \
    >"$dir.log" 2>&1 </dev/null; then
    tail -n 20 "$dir.log" >&2
    echo "debootstrap failed: $dir.log" >&2
    return 1
  fi
  "${as_root[@]}" tee "$dir.partial/.complete" <<<"$wanted" >/dev/null
  "${as_root[@]}" mv "$dir.partial" "$dir"
}

# debian_root_mirror: the first mirror of Debian itself that apt knows the content of; nothing where there is none.
debian_root_mirror() {
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(REPO_URI)' 'Label: Debian' 'Identifier: Packages' 2>/dev/null | sed -n 1p
}
