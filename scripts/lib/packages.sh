# Debian packages that the scripts need. Sourced by scripts/*.sh; runs nothing by itself.
# shellcheck shell=bash

# What building the plugin needs, without its tests.
# shellcheck disable=SC2034
plugin_build_packages=(g++ make cmake pkg-config libxxhash-dev mosquitto-dev libmosquitto-dev)

# need_packages PACKAGE...
#   Installs those of PACKAGE... that are missing, and says which on standard error. Where nothing is missing it only asks
#   dpkg: no sudo, no network, nothing printed.
#   Package lists are updated only where apt does not know a package, or knows one that the mirror no longer has.
#   Returns 0 when all are installed, 1 otherwise, having said what is missing and why it could not be installed.
need_packages() {
  local -a missing=() as_root=()
  local package
  for package in "$@"; do
    packages_installed "$package" || missing+=("$package")
  done
  ((${#missing[@]})) || return 0

  if ! command -v apt-get >/dev/null; then
    echo "missing: ${missing[*]} (Debian package names; there is no apt-get here to install them with)" >&2
    return 1
  fi
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "missing: ${missing[*]}; install them as root: apt-get install ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi

  echo "installing: ${missing[*]}" >&2
  packages_known "${missing[@]}" || packages_apt update || return 1
  packages_apt install "${missing[@]}" 2>/dev/null && return 0
  packages_apt update && packages_apt install "${missing[@]}"
}

# packages_installed PACKAGE: whether dpkg has it installed and configured.
packages_installed() {
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# packages_known PACKAGE...: whether apt's lists have a version of each to install.
packages_known() {
  local package
  for package in "$@"; do
    apt-cache show --no-all-versions "$package" >/dev/null 2>&1 || return 1
  done
}

# packages_apt COMMAND [PACKAGE...]: apt-get without questions; its output is shown only where it fails. Reads as_root.
packages_apt() {
  local output
  local -a options=(-qq -o Dpkg::Use-Pty=0)
  [[ $1 != install ]] || options+=(--yes --no-install-recommends)
  if ! output=$("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" "$@" 2>&1 </dev/null); then
    printf '%s\n' "$output" "apt-get $1 failed" >&2
    return 1
  fi
}
