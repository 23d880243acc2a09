#!/usr/bin/env bash
# Promise: scripts/demo.sh --help lists the options that are handled and no others, each with the range that is really
# enforced; anything else is refused with status 2 and a message that names it. Nothing is installed, built or started.
set -u
demo=$(cd "$(dirname "$0")/../.." && pwd)/scripts/demo.sh
failures=0
fail() { printf 'FAILED: %s\n' "$*"; failures=$((failures + 1)); }

# refused EXPECTED_TEXT ARGUMENT...
refused() {
  local text status
  text=$("$demo" "${@:2}" 2>&1 >/dev/null)
  status=$?
  ((status == 2)) || fail "demo.sh ${*:2}: status $status, not 2"
  [[ $text == *"$1"* ]] || fail "demo.sh ${*:2}: says '$text', not '$1'"
}

help=$("$demo" --help) || fail "--help: status $?"
listed=$(grep -oE '^  --[a-z-]+' <<<"$help" | tr -d ' ' | sort)
handled=$(grep -oE '^ +--[a-z-]+\)' "$demo" | tr -d ' )' | sort)
[[ -n $listed && $listed == "$handled" ]] || fail "listed: ${listed//$'\n'/ }; handled: ${handled//$'\n'/ }"

ranges=0
while read -r option lowest highest; do
  ranges=$((ranges + 1))
  for value in "$((lowest - 1))" "$((highest + 1))" '' x -1 1.5 1x 99999999999999999999; do
    refused "$option takes a whole number from $lowest to $highest, not '$value'" "$option" "$value"
  done
  refused "$option takes" "$option"
  for value in "$lowest" "$highest" "00$lowest"; do
    refused "unknown argument '--no-such'" "$option" "$value" --no-such
  done
done < <(sed -nE 's/^  (--[a-z-]+) [A-Z] .* ([0-9]+) to ([0-9]+) \(default [0-9]+\)$/\1 \2 \3/p' <<<"$help")
((ranges == $(grep -cE '^  --[a-z-]+ [A-Z] ' <<<"$help"))) || fail "an option with a value has no range in --help"

for argument in --Native --nativ native -h '' --native=yes; do refused "unknown argument '$argument'" "$argument"; done

((failures == 0)) && echo "demo_docs: ok"
exit $((failures > 0))
