#!/usr/bin/env bash
# Promise: `cmake --install` puts the plugin where Mosquitto's own plugins are, and a worker's project that says
# find_package(keyed_sticky) and links keyed_sticky::keyed_sticky_headers compiles and runs with every installed header
# (redis_checkpoint_store.h aside, which needs hiredis).
set -euo pipefail
: "${BUILD_DIR:?the folder of the build}" "${PLUGIN_DIR:?where the plugin goes, relative to the prefix}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  printf 'FAILED: %s\n' "$*"
  exit 1
}

cmake --install "$BUILD_DIR" --prefix "$scratch/usr" >"$scratch/log" || fail "$(cat "$scratch/log")"
[[ -f $scratch/usr/$PLUGIN_DIR/mosquitto_keyed_sticky.so ]] || fail "no plugin in $PLUGIN_DIR: $(cat "$scratch/log")"
library=$(sed -n 's/^Mosquitto_LIBRARY:[A-Z]*=//p' "$BUILD_DIR/CMakeCache.txt")
stock=$(find "$(dirname "$library")" -maxdepth 2 -name mosquitto_dynamic_security.so)
grep -qF "/$PLUGIN_DIR/mosquitto_dynamic_security.so" <<<"$stock" ||
  fail "Mosquitto's own plugins are not in $PLUGIN_DIR, where this one goes, but here: $stock"

mkdir "$scratch/worker"
cd "$scratch/usr/include"
mapfile -t headers < <(find keyed_sticky -name '*.h' ! -name 'redis_*' | LC_ALL=C sort)
((${#headers[@]} > 0)) || fail 'no headers installed'
cd "$scratch/worker"
{
  printf '#include "%s"\n' "${headers[@]}"
  echo 'int main() {}'
} >worker.cpp
cat >CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(worker LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(keyed_sticky REQUIRED)
add_executable(worker worker.cpp)
target_link_libraries(worker PRIVATE keyed_sticky::keyed_sticky_headers)
CMAKE
build_worker() { # PREFIX
  rm -rf build
  cmake -S . -B build -DCMAKE_PREFIX_PATH="$1" >log 2>&1 && cmake --build build >>log 2>&1 && build/worker
}
build_worker "$scratch/usr" || fail "the worker does not build: $(cat log)"

# Without the installation it must not.
mv "$scratch/usr" "$scratch/gone"
if build_worker "$scratch/usr"; then fail 'the worker builds without the installation'; fi
echo "installed and used: ${#headers[@]} headers"
