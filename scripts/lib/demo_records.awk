# What the workers of scripts/demo.sh received, judged per device.
#
# Input, in this order:
#   1. the file of what was published, one line a device: "DEVICE COUNT" (the device sent 1, 2, ... COUNT);
#   2. standard input: the lines of all workers, in order of arrival: "TIME WORKER TOPIC SEQUENCE [NAME:VALUE ...];"
#      A line without its ";" is still being written, or was cut off with its worker: it is not a delivery.
# Variables: recent = of how many last deliveries the owners are given.
#
# Output: one line a device, then one that begins with "total":
#   DEVICE PUBLISHED RECEIVED REORDERED LOST REPEATED UNMARKED STALE UNSTAMPED CHANGES OWNERS
#   received   sequence numbers seen at least once, by any worker ("first deliveries")
#   reordered  first deliveries that arrived after a first delivery with a higher number
#   lost       published numbers that no worker saw
#   repeated   deliveries of a number seen before; unmarked: those among them without ks-redelivery
#   stale      deliveries under an older ks-epoch than an earlier delivery had; unstamped: without a ks-epoch
#   changes    first deliveries that went to another worker than the one before
#   owners     workers of the last `recent` first deliveries, each once, sorted: "2" or "1,2,3"; "-" before the first

function owners(device,    i, worker, list, had) {
  for (i = received[device]; i > 0 && i > received[device] - recent; i--) had[worker_of[device, i]] = 1
  for (worker = 1; worker <= workers; worker++) if (worker in had) list = list (list == "" ? "" : ",") worker
  return list == "" ? "-" : list
}

function lost(device,    i, missing) {
  for (i = 1; i <= published[device]; i++) if (!((device, i) in seen)) missing++
  return missing + 0
}

FILENAME != "-" {
  published[$1] = $2
  devices[++device_count] = $1
  next
}

!/;$/ { next }

{
  worker = substr($2, length("worker-") + 1) + 0
  split($3, level, "/")
  device = level[2]
  sequence = $4 + 0
  if (worker > workers) workers = worker

  if (match($0, / ks-epoch:[0-9]+/)) {
    epoch = substr($0, RSTART + 10, RLENGTH - 10) + 0
    if (epoch < newest_epoch[device]) stale[device]++
    else newest_epoch[device] = epoch
  } else {
    unstamped[device]++
  }

  if ((device, sequence) in seen) {
    repeated[device]++
    if ($0 !~ / ks-redelivery:/) unmarked[device]++
    next
  }
  seen[device, sequence] = 1
  received[device]++
  if (sequence < highest[device]) reordered[device]++
  else highest[device] = sequence
  worker_of[device, received[device]] = worker
  if (received[device] > 1 && worker != worker_of[device, received[device] - 1]) changes[device]++
}

END {
  for (i = 1; i <= device_count; i++) {
    d = devices[i]
    missing = lost(d)
    print d, published[d] + 0, received[d] + 0, reordered[d] + 0, missing, repeated[d] + 0, unmarked[d] + 0, \
      stale[d] + 0, unstamped[d] + 0, changes[d] + 0, owners(d)
    sum[1] += published[d]; sum[2] += received[d]; sum[3] += reordered[d]; sum[4] += missing; sum[5] += repeated[d]
    sum[6] += unmarked[d]; sum[7] += stale[d]; sum[8] += unstamped[d]; sum[9] += changes[d]
  }
  line = "total"
  for (i = 1; i <= 9; i++) line = line " " (sum[i] + 0)
  print line, "-"
}
