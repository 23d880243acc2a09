#!/usr/bin/env bash
# Promise: each folder includes only what its layer may. plugin/core is std, xxHash and itself, and reads no clock;
# include/ is that too, with hiredis in redis_checkpoint_store.h alone; broker/ and redis/ do not know each other;
# plugin_main.cpp is the only file that knows all.
set -euo pipefail
repo=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

std='<[a-z_0-9]+>'
xxhash='<xxhash\.h>'
mosquitto='<(mosquitto[a-z_/]*|mqtt_protocol)\.h>'
hiredis='<hiredis/[a-z_]+\.h>'
clock='(_clock|Clock)::now *\(|[^_a-z.>](time|clock_gettime|gettimeofday) *\('
io='<(fstream|iostream|cstdio|ctime|thread|mutex|future|condition_variable|filesystem|random)>'

# violations TREE: one line for each include or call that its layer may not have.
violations() {
  local tree=$1
  includes "$tree/plugin/core" "$std|$xxhash|\"(core|keyed_sticky)/"
  includes "$tree/plugin/redis" "$std|$xxhash|$hiredis|<(sys/)?[a-z_]+\.h>|\"(core|redis|keyed_sticky)/" "$mosquitto"
  includes "$tree/plugin/broker" "$std|$xxhash|$mosquitto|<(sys/)?[a-z_]+\.h>|\"(core|broker|keyed_sticky)/" "$hiredis"
  includes "$tree/include" "$std|$xxhash|$hiredis|\"keyed_sticky/"
  grep -rnE "^ *# *include *$hiredis" "$tree/include" 2>/dev/null | grep -v '/redis_checkpoint_store\.h:' || true
  grep -rnE "^ *# *include *$io" "$tree/plugin/core" || true
  grep -rnE "$clock" "$tree/plugin/core" --include='*.h' --include='*.cpp' | grep -vE '^[^:]+:[0-9]+: *//' || true
}

# includes FOLDER ALLOWED [FORBIDDEN]: the includes that are not allowed, or forbidden (which goes before allowed).
includes() {
  local file
  [[ -d $1 ]] || return 0
  while IFS= read -r file; do
    grep -nE '^ *# *include' "$file" | grep -vE "# *include *($2)" | sed "s|^|$file:|" || true
    [[ -z ${3:-} ]] || grep -nE "^ *# *include *($3)" "$file" | sed "s|^|$file:|" || true
  done < <(find "$1" -type f \( -name '*.h' -o -name '*.cpp' \))
}

failed=0
found=$(violations "$repo")
if [[ -n $found ]]; then
  printf 'FAILED: outside its layer:\n%s\n' "$found"
  failed=1
fi

# Each of these must be seen.
planted=0
plant() { # FILE LINE
  rm -rf "$scratch/tree"
  mkdir -p "$scratch/tree/$(dirname "$1")" "$scratch/tree/plugin/core"
  printf '#include <string>\n%s\n' "$2" >"$scratch/tree/$1"
  planted=$((planted + 1))
  [[ -n $(violations "$scratch/tree") ]] || { printf 'FAILED: not seen: %s in %s\n' "$2" "$1"; failed=1; }
}
plant plugin/core/a.cpp '#include <mosquitto.h>'
plant plugin/core/a.h '#include <mosquitto/libcommon.h>'
plant plugin/core/a.cpp '#include "broker/trap.h"'
plant plugin/core/a.cpp '#include <hiredis/hiredis.h>'
plant plugin/core/a.cpp '#include <fstream>'
plant plugin/core/a.cpp '#include <unistd.h>'
plant plugin/core/a.cpp 'const auto now = std::chrono::steady_clock::now();'
plant plugin/core/a.cpp 'const auto now = std::time(nullptr);'
plant plugin/broker/a.cpp '#include <hiredis/async.h>'
plant plugin/broker/a.cpp '#include "redis/redis_coordinator.h"'
plant plugin/redis/a.cpp '#include <mosquitto_broker.h>'
plant plugin/redis/a.cpp '#include "broker/trap.h"'
plant include/keyed_sticky/stamp.h '#include <mqtt_protocol.h>'
plant include/keyed_sticky/reset.h '#include <hiredis/hiredis.h>'
plant include/keyed_sticky/redis_checkpoint_store.h '#include <mosquitto.h>'
plant include/keyed_sticky/redis_checkpoint_store.h '#include "core/lane.h"'

# And these are allowed.
allow() { # FILE LINE
  rm -rf "$scratch/tree"
  mkdir -p "$scratch/tree/$(dirname "$1")" "$scratch/tree/plugin/core"
  printf '%s\n' "$2" >"$scratch/tree/$1"
  local seen
  seen=$(violations "$scratch/tree")
  [[ -z $seen ]] || { printf 'FAILED: refused: %s\n' "$seen"; failed=1; }
}
allow plugin/core/a.cpp '#include "keyed_sticky/slot_hash.h"'
allow plugin/core/a.cpp '// std::chrono::steady_clock::now() is the caller'\''s.'
allow plugin/broker/a.cpp '#include <mosquitto/broker_plugin.h>'
allow plugin/redis/a.cpp '#include <sys/socket.h>'
allow include/keyed_sticky/redis_checkpoint_store.h '#include <hiredis/hiredis.h>'
allow plugin/plugin_main.cpp '#include "redis/redis_coordinator.h"'

((failed == 0)) && echo "the layers hold; $planted planted violations were seen"
exit "$failed"
