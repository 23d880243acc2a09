#!/usr/bin/env bash
# Promise: docs/operations.md explains every event the plugin logs and every counter it reports, and names no other counter.
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
docs=$repo/docs/operations.md
failed=0

counters=$(grep -oE 'add\("[a-z0-9_]+"' "$repo/plugin/broker/adapter.cpp" | cut -d'"' -f2)
# An event is the first word of a line handed to the log: lower case, words joined by underscores.
events=$(grep -rhoE '"(member|record|owner|epoch|claim|callback|messages|unknown|unexplained)_[a-z_]+[" ]|"rebalance[" ]' \
  "$repo/plugin" --include='*.cpp' | tr -d '" ' | sort -u)
[ "$(wc -w <<<"$counters")" -gt 15 ] || { echo "found only these counters: $counters"; failed=1; }
[ "$(wc -w <<<"$events")" -gt 8 ] || { echo "found only these events: $events"; failed=1; }

for name in $counters $events; do
  grep -q "\`$name\`" "$docs" || { echo "docs/operations.md does not explain \`$name\`"; failed=1; }
done

# The counters' table, first column.
documented=$(sed -n '/^## Counters/,/^## /p' "$docs" | grep '^| `' | cut -d'|' -f2 | grep -oE '`[a-z0-9_]+`' | tr -d '`')
for name in $documented; do
  grep -qx "$name" <<<"$counters" || { echo "docs/operations.md explains \`$name\`, which is no counter"; failed=1; }
done
exit $failed
