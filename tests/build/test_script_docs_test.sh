#!/usr/bin/env bash
# Promise: scripts/test.sh --help lists the options that are handled and no others; anything else, and two modes at once, is
# refused with status 2 and a message that names it. Nothing is installed, built or run.
set -u
script=$(cd "$(dirname "$0")/../.." && pwd)/scripts/test.sh
failures=0
fail() { printf 'FAILED: %s\n' "$*"; failures=$((failures + 1)); }

# refused EXPECTED_TEXT ARGUMENT...
refused() {
  local text status
  text=$(timeout 20 "$script" "${@:2}" 2>&1 >/dev/null)
  status=$?
  ((status == 2)) || fail "test.sh ${*:2}: status $status, not 2"
  [[ $text == *"$1"* ]] || fail "test.sh ${*:2}: says '$text', not '$1'"
}

help=$("$script" --help) || fail "--help: status $?"
listed=$(grep -oE '^  --[a-z-]+' <<<"$help" | tr -d ' ' | sort)
handled=$(sed -n '/^for argument/,/^done/p' "$script" | grep -oE '^ +--[a-z| -]+\)' | grep -oE -- '--[a-z-]+' | sort)
[[ -n $listed && $listed == "$handled" ]] || fail "listed: ${listed//$'\n'/ }; handled: ${handled//$'\n'/ }"

for argument in --al all -a --fast=yes ''; do refused "unknown argument $argument" "$argument"; done
refused "exclude each other" --fast --all
refused "exclude each other" --all --fast

((failures == 0)) && echo "test_script_docs: ok"
exit $((failures > 0))
