#!/usr/bin/env bash
# All tests, on this machine: see --help.
set -euo pipefail
export LC_ALL=C
shopt -s nullglob

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"
# shellcheck source=scripts/lib/packages.sh
. scripts/lib/packages.sh
# shellcheck source=scripts/lib/debian_root.sh
. scripts/lib/debian_root.sh

build=$repo/build/test
root=${XDG_CACHE_HOME:-$HOME/.cache}/mosquitto-keyed-sticky/forky-root
root_packages=(mosquitto mosquitto-dev libmosquitto-dev libstdc++6 libxxhash0 libasan8 libubsan1)
fuzz_seconds=60
jobs=$(nproc)

usage() {
  cat <<HELP
Usage: scripts/test.sh [--fast | --all]

Installs what is missing (Debian packages), builds in build/test with warnings as errors, and runs, on the Mosquitto that is
installed: clang-format (changes nothing), a build of the plugin with clang, clang-tidy, the tests of the core, of the
build and on the real broker.

  --fast   without clang and clang-tidy
  --all    also the broker tests on Mosquitto 2.1, all tests with AddressSanitizer and UndefinedBehaviorSanitizer on both
           versions, and each fuzz target for $fuzz_seconds seconds. Mosquitto 2.1 comes from Debian forky: its root folder
           is made once, by debootstrap (root or sudo), in
           \${XDG_CACHE_HOME:-~/.cache}/mosquitto-keyed-sticky/forky-root
  --help   this text

A test that fails is not repeated, and a skipped or disabled one counts as failed. The log of a broker whose test failed is
printed with it. One test by hand: the environment that tests/support/broker.h names, and build/test/gcc/tests/broker/broker_tests.

Exit: 0 all passed, 1 otherwise, 2 wrong usage.
HELP
}

mode=''
for argument in "$@"; do
  case $argument in
    --help)
      usage
      exit 0
      ;;
    --fast | --all)
      if [[ -n $mode && $mode != "$argument" ]]; then
        echo "test.sh: $mode and $argument exclude each other" >&2
        exit 2
      fi
      mode=$argument
      ;;
    *)
      printf 'test.sh: unknown argument %s; see --help\n' "$argument" >&2
      exit 2
      ;;
  esac
done

failed=()          # headlines of what failed
tests_run=0        # over all runs of ctest
tests_failed=0     # failed, skipped or disabled
current=''

section() {
  current=$1
  printf '\n== [%02d:%02d] %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$1"
}

# Notes that the current section failed; the run goes on with the next.
failure() {
  printf 'FAILED: %s\n' "${1:-$current}" >&2
  failed+=("${1:-$current}")
}

# Nothing after it would mean anything.
abort() {
  failure
  finish
}

finish() {
  local minutes=$((SECONDS / 60)) seconds=$((SECONDS % 60))
  section 'Result'
  if ((${#failed[@]})); then printf 'failed: %s\n' "${failed[@]}"; fi
  if ((tests_run > 0)); then
    printf '%d%% tests passed, %d tests failed out of %d\n' \
      $(((tests_run - tests_failed) * 100 / tests_run)) "$tests_failed" "$tests_run"
  fi
  printf 'Total time: %d min %d s\n' "$minutes" "$seconds"
  if ((${#failed[@]})); then exit 1; fi
  exit 0
}

# [target=NAME] configure_and_build NAME [CMAKE_OPTION...]: in build/test/NAME. Its output is shown where it fails.
configure_and_build() {
  local dir=$build/$1 log=$build/$1.log
  shift
  mkdir -p "$build"
  if ! { cmake -S . -B "$dir" -G Ninja -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "$@" && cmake --build "$dir" -j "$jobs" --target "${target:-all}"; } \
    >"$log" 2>&1; then
    grep -E -A 20 'error|FAILED|CMake Error' "$log" | head -n 200 || tail -n 50 "$log"
    return 1
  fi
}

# run_tests NAME CTEST_OPTION...: the tests of build/test/NAME that ctest selects.
run_tests() {
  local dir=$build/$1 junit=$build/$1.junit.xml suite
  shift
  rm -f "$junit"
  ctest --test-dir "$dir" --output-on-failure --no-tests=error --output-junit "$junit" -j "$jobs" "$@" || failure
  suite=$(grep -m 1 -A 8 '<testsuite' "$junit" 2>/dev/null || true)
  local tests failures skipped disabled
  tests=$(attribute tests) failures=$(attribute failures) skipped=$(attribute skipped) disabled=$(attribute disabled)
  tests_run=$((tests_run + tests))
  tests_failed=$((tests_failed + failures + skipped + disabled))
  if ((skipped + disabled > 0)); then failure "$current: $skipped skipped, $disabled disabled"; fi
}

attribute() { # NAME: of $suite, 0 where it has none
  local value
  value=$(sed -n "s/.*[[:space:]]$1=\"\([0-9]*\)\".*/\1/p" <<<"$suite" | sed -n 1p)
  echo "${value:-0}"
}

# broker_tests BUILD BROKER PLUGIN_BUILD [PRELOAD]
broker_tests() {
  KEYED_STICKY_BROKER=$2 KEYED_STICKY_PLUGIN=$build/$3/mosquitto_keyed_sticky.so KEYED_STICKY_PRELOAD=${4:-} \
    run_tests "$1" -L '^broker$'
}

sources() {
  local folder
  for folder in plugin include tests bench examples; do
    [[ ! -d $folder ]] || find "$folder" -type f \( -name '*.h' -o -name '*.cpp' \)
  done | sort
}

format() { sources | xargs clang-format --dry-run --Werror; }

# The path analysis of clang-analyzer takes most of the time, and finds its faults in what runs for long: not in the tests.
tidy() {
  local log=$build/clang-tidy.log
  run-clang-tidy -quiet -p "$build/gcc" -j "$jobs" "^$repo/plugin/" >"$log" 2>&1 &&
    run-clang-tidy -quiet -p "$build/gcc" -j "$jobs" -checks='-clang-analyzer-*' "^$repo/(?!plugin/|build/)" >>"$log" 2>&1 &&
    return 0
  grep -E -A 4 '(error|warning):' "$log" | head -n 200 || tail -n 50 "$log"
  return 1
}

# Each for a minute, as many at once as there are processors. A finding is printed and kept.
fuzz() {
  local -a targets=("$build"/fuzz/tests/fuzz/*_fuzz)
  if ((${#targets[@]} == 0)); then
    echo 'no fuzz targets were built'
    return 1
  fi
  # shellcheck disable=SC2016
  printf '%s\n' "${targets[@]}" | xargs -P "$jobs" -I '{}' bash -c '
    name=$(basename "$1") && mkdir -p "$1.corpus" && cd "$1.corpus/.." &&
    if "$1" -max_total_time="$2" -timeout=10 -print_final_stats=1 -artifact_prefix="$1." "$1.corpus" >"$1.log" 2>&1; then
      printf "%s: %s runs, nothing found\n" "$name" "$(sed -n "s/^stat::number_of_executed_units: *//p" "$1.log")"
    else
      tail -n 60 "$1.log"; printf "%s: FAILED\n" "$name"; exit 1
    fi' fuzz '{}' "$fuzz_seconds"
}

section 'What is needed'
packages=(g++ cmake ninja-build pkg-config ccache binutils clang-format libgtest-dev libxxhash-dev
  mosquitto mosquitto-clients mosquitto-dev libmosquitto-dev)
[[ $mode == --fast ]] || packages+=(clang clang-tidy)
[[ $mode != --all ]] || packages+=(libclang-rt-14-dev)
need_packages "${packages[@]}" || abort
# The same sources are compiled for several folders and versions.
export CCACHE_NOHASHDIR=1

section 'Build with gcc'
configure_and_build gcc || abort

section 'clang-format'
format || failure

if [[ $mode != --fast ]]; then
  section 'Build the plugin with clang'
  configure_and_build clang -DCMAKE_CXX_COMPILER=clang++ -DKEYED_STICKY_TESTS=OFF || failure
  section 'clang-tidy'
  tidy || failure
fi

section 'Tests without a broker'
run_tests gcc -LE '^broker$'

section 'Broker tests on the installed Mosquitto'
broker_tests gcc system gcc

[[ $mode == --all ]] || finish

section 'Mosquitto 2.1'
debian_root forky "$root" "${root_packages[@]}" || abort
library=$(echo "$root"/usr/lib/*/libmosquitto.so)
on_2_1=(-DKEYED_STICKY_TESTS=OFF "-DMosquitto_INCLUDE_DIR=$root/usr/include" "-DMosquitto_LIBRARY=$library")

section 'Build the plugin for Mosquitto 2.1'
configure_and_build gcc-2.1 "${on_2_1[@]}" || abort

section 'Broker tests on Mosquitto 2.1'
broker_tests gcc "root:$root" gcc-2.1

section 'Build with sanitizers'
# Lines for the reports, assert() active, and half the time to compile.
sanitize=('-DKEYED_STICKY_SANITIZE=address,undefined' '-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1')
configure_and_build asan "${sanitize[@]}" || abort
configure_and_build asan-2.1 "${sanitize[@]}" "${on_2_1[@]}" || abort
# A runtime must fit the C library under it: with this system's, the root's broker sometimes hangs when it ends.
system_runtimes=$(realpath "$(g++ -print-file-name=libasan.so)"):$(realpath "$(g++ -print-file-name=libubsan.so)")
root_runtimes=$(echo "$root"/usr/lib/*/libasan.so.8):$(echo "$root"/usr/lib/*/libubsan.so.1)

section 'Tests without a broker, with sanitizers'
run_tests asan -LE '^(broker|build)$'

section 'Broker tests on the installed Mosquitto, with sanitizers'
broker_tests asan system asan "$system_runtimes"

section 'Broker tests on Mosquitto 2.1, with sanitizers'
broker_tests asan "root:$root" asan-2.1 "$root_runtimes"

section 'Build the fuzz targets'
if target=tests/fuzz/all configure_and_build fuzz -DCMAKE_CXX_COMPILER=clang++ -DKEYED_STICKY_FUZZ=ON; then
  section "Fuzz targets, $fuzz_seconds s each"
  fuzz || failure
else
  failure
fi

finish
