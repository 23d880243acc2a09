#!/usr/bin/env bash
# Promise: the demo's figures are right where something is wrong: each kind of fault put into the workers' records by hand is
# counted once, for its device, and nothing else is.
set -u
judge=$(cd "$(dirname "$0")/../.." && pwd)/scripts/lib/demo_records.awk
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
time=0 lines=''

arrives() { # WORKER DEVICE SEQUENCE EPOCH [REST]
  time=$((time + 1))
  lines+="$((1000 + time)).5 worker-$1 devices/$2/telemetry $3 ks-key:$2 ks-epoch:$4 ks-sequence:$3${5-};"$'\n'
}

# expect WHAT PUBLISHED FIELDS...: the judgement of device d after the lines so far, of which PUBLISHED were sent.
# FIELDS: received reordered lost repeated unmarked stale unstamped changes owners
expect() {
  local got
  echo "d $2" >"$work/published"
  got=$(printf %s "$lines" | awk -v recent=2 -f "$judge" "$work/published" - | grep '^d ')
  [[ $got == "d $2 ${*:3}" ]] || { printf 'FAILED: %s\n  expected d %s\n  got      %s\n' "$1" "$2 ${*:3}" "$got"; failures=$((failures + 1)); }
  lines=''
}

expect 'nothing arrived' 0 0 0 0 0 0 0 0 0 -

for n in 1 2 3; do arrives 1 d "$n" 1; done
expect 'in order' 3 3 0 0 0 0 0 0 0 1

arrives 1 d 1 1; arrives 1 d 3 1; arrives 2 d 2 1; arrives 1 d 4 1
expect 'one overtaken' 4 4 1 0 0 0 0 0 2 1,2

arrives 1 d 2 1; arrives 1 d 4 1
expect 'first, middle and last lost' 5 2 0 3 0 0 0 0 0 1

arrives 1 d 1 1; arrives 1 d 2 1; arrives 3 d 1 2 ' ks-redelivery:1'; arrives 3 d 2 2 ' ks-redelivery:1'; arrives 3 d 3 2
expect 'repeated with the mark after a takeover' 3 3 0 0 2 0 0 0 1 1,3

arrives 1 d 1 1; arrives 1 d 1 1; arrives 1 d 2 1
expect 'repeated without the mark' 2 2 0 0 1 1 0 0 0 1

arrives 1 d 1 1; arrives 2 d 2 2; arrives 1 d 3 1
expect 'an old owner goes on' 3 3 0 0 0 0 1 0 2 1,2

lines='1000.5 worker-1 devices/d/telemetry 1 ;'$'\n'
expect 'without a stamp' 1 1 0 0 0 0 0 1 0 1

arrives 1 d 1 1
lines+='1000.5 worker-1 devices/d/telemetry 2 ks-epo'$'\n'
expect 'a line cut off with its worker is no delivery' 2 1 0 1 0 0 0 0 0 1

for n in 1 2 3; do for device in d e; do arrives 2 "$device" "$n" 1; done; done
arrives 2 e 5 1; arrives 2 e 4 1
expect "another device's fault is not this one's" 3 3 0 0 0 0 0 0 0 2

((failures == 0)) && echo "demo_records: ok"
exit $((failures > 0))
