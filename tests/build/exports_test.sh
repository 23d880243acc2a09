#!/usr/bin/env bash
# Promise: the plugin exports its three entry points and nothing else, so that it can neither clash with the broker nor with
# another plugin.
set -euo pipefail
: "${PLUGIN:?the path of the built plugin}"

expected=$(printf '%s\n' mosquitto_plugin_cleanup mosquitto_plugin_init mosquitto_plugin_version)
exported() { nm --dynamic --defined-only --format=posix "$1" | awk '{ print $1 }' | LC_ALL=C sort -u; }

if ! difference=$(diff <(echo "$expected") <(exported "$PLUGIN")); then
  printf 'FAILED: %s exports something else (< expected, > found):\n%s\n' "$PLUGIN" "$difference"
  exit 1
fi

# A library that exports more must be seen to.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo 'int mosquitto_plugin_version(void) { return 5; } int stray(void) { return 0; }' >"$scratch/stray.c"
cc -shared -fPIC -o "$scratch/stray.so" "$scratch/stray.c"
if [[ $(exported "$scratch/stray.so") != $(printf 'mosquitto_plugin_version\nstray') ]]; then
  echo 'FAILED: exports are not read as they are'
  exit 1
fi
echo 'only the entry points are exported'
