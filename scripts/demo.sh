#!/usr/bin/env bash
# Shows what the plugin does, on this machine: devices and workers that are stock clients, one worker killed and brought back.
set -euo pipefail
export LC_ALL=C
shopt -s nullglob

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib/packages.sh
. "$repo/scripts/lib/packages.sh"

native='' devices=12 rate=20 step_seconds=4

usage() {
  cat <<HELP
Usage: scripts/demo.sh [OPTION]...

Installs what is missing (Debian packages), builds the plugin in build/demo, starts Mosquitto with it on a free loopback
port, three workers (mosquitto_sub) and some devices (mosquitto_pub, QoS 1), kills one worker, brings it back, and counts.

  --native        the same on plain \$share, without the plugin: shows what happens to the order there
  --devices N     how many devices, 3 to 99 (default $devices)
  --rate N        records a second from each device on average, 1 to 100 (default $rate)
  --seconds S     how long each of the three steps lasts at least, 1 to 60 (default $step_seconds)
  --help          this text

Counted for each device, over all workers, by the time of arrival: a record's first delivery that comes after the first
delivery of a later record is reordered; a record that the broker acknowledged and no worker saw is lost; a second delivery
is repeated, which QoS 1 allows after a failover: the plugin marks those with ks-redelivery.

Exit: 0 order kept and nothing lost (--native: always, it only shows), 1 otherwise, 2 wrong usage, 3 it could not be run.
HELP
}

die() { # STATUS MESSAGE...
  printf 'demo.sh: %s\n' "${*:2}" >&2
  exit "$1"
}

whole_number() { # OPTION VALUE LOWEST HIGHEST
  if ! [[ $2 =~ ^[0-9]{1,5}$ ]] || ((10#$2 < $3 || 10#$2 > $4)); then
    die 2 "$1 takes a whole number from $3 to $4, not '$2'"
  fi
}

while (($#)); do
  case $1 in
    --native) native=yes ;;
    --devices) whole_number "$1" "${2-}" 3 99; devices=$((10#$2)); shift ;;
    --rate) whole_number "$1" "${2-}" 1 100; rate=$((10#$2)); shift ;;
    --seconds) whole_number "$1" "${2-}" 1 60; step_seconds=$((10#$2)); shift ;;
    --help) usage; exit 0 ;;
    *) die 2 "unknown argument '$1' (--help lists them)" ;;
  esac
  shift
done

filter='devices/+/telemetry'
workers=3
victim=2           # killed in the second step, back in the third
sleepy=3           # pauses once in the first step and once in the third
settle_limit=12    # seconds after which a step goes on with what it has
recent=$((rate < 10 ? rate : 10)) # a device's owners are who got its last so many records

# ---- what runs, and how it ends ---------------------------------------------------------------------------------------------

dir='' keep='' tick='' live='' drawn=0
declare -A running=() # name -> pid of what this script started and has not seen end
declare -A worker_up=()
declare -A received=() reordered=() owner=() cell=()
declare -a total=()
device_names=()
for ((i = 1; i <= devices; i++)); do device_names+=("device-$(printf %02d "$i")"); done

cleanup() {
  local status=$? name
  trap - EXIT
  ((${#running[@]} == 0)) || kill -9 "${running[@]}" 2>/dev/null || true
  for name in "${!running[@]}"; do wait "${running[$name]}" 2>/dev/null || true; done
    [[ -z $dir || -n $keep ]] || rm -rf "$dir"
  exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

now_ms() { local us=${EPOCHREALTIME/./}; echo $((us / 1000)); }

# Waits a moment without starting a process; only ever used between two looks at a condition.
moment() { read -rt "$1" -u "$tick" || true; }

# wait_for SECONDS COMMAND...: whether COMMAND succeeded in time.
wait_for() {
  local deadline=$(($(now_ms) + $1 * 1000))
  shift
  until "$@"; do
    (($(now_ms) < deadline)) || return 1
    moment 0.05
  done
}

is_running() { [[ -n ${running[$1]-} ]] && kill -0 "${running[$1]}" 2>/dev/null; }
in_broker_log() { grep -qF -- "$1" "$dir/broker.log"; }
broker_up_or_gone() { in_broker_log ' running' || ! is_running broker; }

build() {
  local -a packages=(mosquitto mosquitto-clients)
  [[ -n $native ]] || packages+=("${plugin_build_packages[@]}")
  need_packages "${packages[@]}" || die 3 'the packages above are needed'
  [[ -z $native ]] || return 0

  echo 'building: the plugin, in build/demo' >&2
  local log=$dir/build.log
  if ! { cmake -S "$repo" -B "$repo/build/demo" -DCMAKE_BUILD_TYPE=Release -DKEYED_STICKY_TESTS=OFF &&
    cmake --build "$repo/build/demo" --target mosquitto_keyed_sticky --parallel "$(nproc)"; } >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    die 3 'the plugin did not build'
  fi
  plugin=$repo/build/demo/mosquitto_keyed_sticky.so
  [[ -f $plugin ]] || die 3 "the build left no $plugin"
}

write_broker_conf() {
  cat <<CONF
listener $port 127.0.0.1
allow_anonymous true
persistence false
user $(id -un)
log_dest stderr
log_type error
log_type warning
log_type notice
log_type information
log_type subscribe
CONF
  [[ -n $native ]] || cat <<CONF
plugin $plugin
plugin_opt_group ingest key=topic:2
plugin_opt_broker_acl none
# Short, so that the demo is: the defaults are 10 s, 5 s and 3 s.
plugin_opt_lease_timeout 3s
plugin_opt_rebalance_delay 1s
plugin_opt_drain_timeout 1s
# Records a killed worker may still lack, sent again to the next owner. Here: what half of the devices send in a second.
plugin_opt_unacked_window $((devices * rate / 2 + 20))
CONF
}

start_broker() {
  local try
  for ((try = 1; try <= 10; try++)); do
    port=$((20000 + RANDOM % 12000))
    write_broker_conf >"$dir/mosquitto.conf"
    mosquitto -c "$dir/mosquitto.conf" >"$dir/broker.log" 2>&1 &
    running[broker]=$!
    wait_for 10 broker_up_or_gone || break
    is_running broker && return 0
    in_broker_log 'Address already in use' || break
  done
  tail -n 20 "$dir/broker.log" >&2
  die 3 'the broker did not start'
}

broker_ended() {
  tail -n 20 "$dir/broker.log" >&2
  keep=yes
  die 1 "the broker ended by itself; its log and the workers' records are in $dir"
}

# Becomes the client: to be started with &, so that the pid is the client's own.
client() { # COMMAND CLIENT_ID ARGUMENT...
  exec "$1" -h 127.0.0.1 -p "$port" -V mqttv5 -q 1 -i "$2" "${@:3}"
}

subscriptions_of() { grep -cF " worker-$1 1 \$share/ingest/$filter" "$dir/broker.log" || true; }
subscribed_more() { (($(subscriptions_of "$1") > $2)); }

# start_worker NUMBER: returns when the broker has granted the subscription. Its records are kept across a kill.
start_worker() {
  local before
  before=$(subscriptions_of "$1")
  client mosquitto_sub "worker-$1" -t "\$share/ingest/$filter" -F "%U worker-$1 %t %p %P;" \
    >>"$dir/worker-$1.records" 2>>"$dir/clients.log" &
  running[worker-$1]=$!
  wait_for 10 subscribed_more "$1" "$before" || die 3 "worker-$1 could not subscribe: $(tail -n 3 "$dir/clients.log")"
  worker_up[$1]=yes
}

kill_worker() {
  worker_up[$1]=''
  kill -9 "${running[worker-$1]}"
  wait "${running[worker-$1]}" 2>/dev/null || true
  unset "running[worker-$1]"
}

# One mosquitto_pub a device, for the whole run: a device's records travel over one connection, in order.
start_devices() {
  local name
  for name in "${device_names[@]}"; do
    mkfifo "$dir/$name.fifo"
    client mosquitto_pub "$name" -t "${filter/+/$name}" -l <"$dir/$name.fifo" 2>>"$dir/clients.log" &
    running[$name]=$!
  done
  feed_devices &
  running[feeder]=$!
}

# Gives each device its next number at irregular times, `rate` times a second on average, until the file `stop` is there;
# leaves what each has sent in `sent`.
feed_devices() {
  local i fd pause
  local -a fds=() sent=()
  trap '' PIPE
  printf -v pause '0.%06d' $((500000 / rate))
  for ((i = 0; i < devices; i++)); do
    exec {fd}>"$dir/${device_names[i]}.fifo"
    fds+=("$fd") sent+=(0)
  done
  while [[ ! -e $dir/stop ]]; do
    for ((i = 0; i < devices; i++)); do
      ((RANDOM % 2)) || continue
      sent[i]=$((sent[i] + 1))
      printf '%d\n' "${sent[i]}" >&"${fds[i]}" || true
    done
    moment "$pause"
  done
  for ((i = 0; i < devices; i++)); do echo "${device_names[i]} ${sent[i]}"; done >"$dir/sent"
}

# Returns when every device's mosquitto_pub has had all its records acknowledged, and writes how many that were to `published`.
stop_devices() {
  local name failed=''
  touch "$dir/stop"
  wait "${running[feeder]}" || die 3 'the load stopped early'
  unset 'running[feeder]'
  for name in "${device_names[@]}"; do
    wait_for 10 publisher_gone "$name" || die 3 "$name got no acknowledgement for its last records"
    wait "${running[$name]}" || failed+=" $name"
    unset "running[$name]"
  done
  [[ -z $failed ]] || die 3 "could not publish:$failed: $(tail -n 3 "$dir/clients.log")"
  mv "$dir/sent" "$dir/published"
}

publisher_gone() { ! is_running "$1"; }

# ---- what is seen -----------------------------------------------------------------------------------------------------------

survey() {
  local name rest
  while read -r name rest; do
    # shellcheck disable=SC2206
    local -a field=($rest)
    [[ $name != total ]] || { total=("${field[@]}"); continue; }
    received[$name]=${field[1]} reordered[$name]=${field[2]} owner[$name]=${field[9]}
  done < <(sort -m -k1,1 "$dir"/worker-*.records | awk -v recent="$recent" -f "$repo/scripts/lib/demo_records.awk" "$dir/published" -)
}

step_titles=('three workers' "worker-$victim killed" "worker-$victim back")

# Fills the current step's column: who owns each device now.
look() {
  local name who
  survey
  for name in "${device_names[@]}"; do
    who=${owner[$name]}
    case $who in
      -) cell[$step,$name]='-' ;;
      *,*) cell[$step,$name]="worker-$who" ;;
      *) if [[ -n ${worker_up[$who]} ]]; then cell[$step,$name]="worker-$who"; else cell[$step,$name]='(held)'; fi ;;
    esac
  done
}

moved_in() { # STEP DEVICE: whether another worker owns it than in the step before
  [[ -z $native && $1 -gt 0 && ${cell[$1,$2]} != "${cell[$(($1 - 1)),$2]}" ]]
}

table() { table_lines | sed 's/ *$//'; }
table_lines() {
  local name i order
  printf '%-10s %8s  %-8s' device records order
  for ((i = 0; i <= step; i++)); do printf '  %-16s' "${step_titles[i]}"; done
  echo
  for name in "${device_names[@]}"; do
    order=ok
    ((reordered[$name] == 0)) || order="${reordered[$name]} late"
    printf '%-10s %8d  %-8s' "$name" "${received[$name]}" "$order"
    for ((i = 0; i <= step; i++)); do
      if moved_in "$i" "$name"; then printf '  %-16s' "${cell[$i,$name]} *"; else printf '  %-16s' "${cell[$i,$name]}"; fi
    done
    echo
  done
}

erase() {
  ((drawn == 0)) || printf '\e[%dA\e[J' "$drawn"
  drawn=0
}

draw() {
  [[ -n $live ]] || return 0
  local text
  text=$(table)
  erase
  printf '%s\n' "$text"
  drawn=$((devices + 1))
}

say() {
  erase
  local ms=$(($(now_ms) - began))
  printf '%4d.%d s  %s\n' $((ms / 1000)) $((ms % 1000 / 100)) "$*"
}

# Whether every device has one owner, who is there, and each worker that is there owns at least SHARE devices.
settled() { # SHARE
  local name i
  local -A owns=()
  for name in "${device_names[@]}"; do
    [[ ${owner[$name]} =~ ^[0-9]+$ && -n ${worker_up[${owner[$name]}]} ]] || return 1
    owns[${owner[$name]}]=$((${owns[${owner[$name]}]-0} + 1))
  done
  for ((i = 1; i <= workers; i++)); do
    [[ -z ${worker_up[$i]} ]] || ((${owns[$i]-0} >= $1)) || return 1
  done
}

# watch SECONDS SHARE [TEXT]: shows the table for at least SECONDS and, with the plugin, until it has been settled for a
# second; says TEXT when it first is.
watch() {
  local start since owners last='' name text=${3-}
  start=$(now_ms) since=$start
  while :; do
    is_running broker || broker_ended
    look
    draw
    owners=''
    for name in "${device_names[@]}"; do owners+=" ${owner[$name]}"; done
    if settled "$2"; then
      [[ -z $text || -n $native ]] || say "$text"
      text=''
    else
      last=''
    fi
    [[ $owners == "$last" ]] || since=$(now_ms)
    last=$owners
    if (($(now_ms) - start >= $1 * 1000)) && { [[ -n $native ]] || (($(now_ms) - since >= 1000)); }; then return 0; fi
    if (($(now_ms) - start >= ($1 + settle_limit) * 1000)); then
      say "not settled after $(($1 + settle_limit)) s"
      return 0
    fi
    moment 0.25
  done
}

pause_worker() {
  say "worker-$1 pauses for half a second, as a garbage collection or a slow disk would make it"
  kill -STOP "${running[worker-$1]}"
  moment 0.5 # the pause itself
  kill -CONT "${running[worker-$1]}"
  watch 1 1
}

snapshot() {
  draw
  [[ -n $live ]] || { echo; table; echo; }
}

everything_received() { survey; ((total[3] == 0)); }

# Prints the figures and the verdict; returns 1 where the plugin broke its promise.
summary() {
  local name victims=0 taken=0 strayed=0 joined=0 shuffled=0
  local -a broken=()
  survey
  for name in "${device_names[@]}"; do
    if [[ ${cell[0,$name]} == "worker-$victim" ]]; then
      victims=$((victims + 1))
      ! moved_in 1 "$name" || taken=$((taken + 1))
    else
      ! moved_in 1 "$name" || strayed=$((strayed + 1))
    fi
    if moved_in 2 "$name"; then
      if [[ ${cell[2,$name]} == "worker-$victim" ]]; then joined=$((joined + 1)); else shuffled=$((shuffled + 1)); fi
    fi
  done

  [[ -z $live ]] || echo
  figure published "${total[0]}" 'and acknowledged, QoS 1, each device over one connection'
  figure received "${total[1]}" 'by some worker, first deliveries'
  figure reordered "${total[2]}" 'first deliveries after the first delivery of a later record of the device'
  figure lost "${total[3]}" 'acknowledged to the device, seen by no worker'
  if [[ -n $native ]]; then
    figure repeated "${total[4]}" 'second deliveries'
    figure switched "${total[8]}" "times a device's next record went to another worker than the one before"
    echo
    echo "Order is not kept by plain \$share: every worker gets records of every device."
    return 0
  fi
  figure repeated "${total[4]}" "second deliveries, sent again after a move; ${total[5]} of them without the mark ks-redelivery"
  figure switched "${total[8]}" "times a device's next record went to another worker than the one before"
  figure stale "${total[6]}" 'deliveries under an older epoch than one before'
  echo
  echo "worker-$victim killed:  $taken of its $victims devices moved, $strayed of the other $((devices - victims))"
  echo "worker-$victim back:    $joined devices moved to it (an even share is $((devices / workers))), $shuffled between the others"
  echo
  ((total[2] == 0)) || broken+=("${total[2]} records reordered")
  ((total[3] == 0)) || broken+=("${total[3]} records lost")
  ((total[5] == 0)) || broken+=("${total[5]} repeated without the mark")
  ((total[6] == 0)) || broken+=("${total[6]} under an older epoch")
  ((total[7] == 0)) || broken+=("${total[7]} without a stamp")
  ((strayed == 0)) || broken+=("$strayed devices moved without need")
  ((taken == victims)) || broken+=("$((victims - taken)) devices left without a worker")
  if ((${#broken[@]})); then
    local IFS=,
    echo "BROKEN: ${broken[*]}" | sed 's/,/, /g'
    echo "The broker's log and the workers' records are in $dir"
    keep=yes
    return 1
  fi
  echo 'Order kept, nothing lost.'
}

figure() { printf '%-10s %6d  %s\n' "$1" "$2" "$3"; }

# ---- the demo ---------------------------------------------------------------------------------------------------------------

dir=$(mktemp -d "${TMPDIR:-/tmp}/keyed-sticky-demo.XXXXXX")
mkfifo "$dir/tick"
exec {tick}<>"$dir/tick"
PATH=$PATH:/usr/sbin:/sbin
if [[ -t 1 ]]; then
  rows=$(stty size 2>/dev/null </dev/tty | cut -d ' ' -f 1) || rows=24
  ((rows < devices + 3)) || live=yes
fi

build
start_broker
began=$(now_ms)
for name in "${device_names[@]}"; do echo "$name 0"; done >"$dir/published"
for ((i = 1; i <= workers; i++)); do start_worker "$i"; done
start_devices

step=0
if [[ -n $native ]]; then how="plain \$share, without the plugin"; else how='with the plugin'; fi
say "$(mosquitto -h | sed -n '1s/^m\(.*\) version/M\1/p') $how: $workers workers, $devices devices, about $rate records a second each"
watch "$step_seconds" $((devices / workers))
pause_worker "$sleepy"
snapshot

say "worker-$victim is killed (kill -9)"
step=1
kill_worker "$victim"
watch "$step_seconds" 1 "its devices have other workers (the lease is 3 s)"
snapshot

say "worker-$victim is back"
step=2
start_worker "$victim"
watch "$step_seconds" $((devices / workers)) "it has its share (the rebalance delay is 1 s)"
pause_worker "$sleepy"

stop_devices
if [[ -n $native ]]; then patience=2; else patience=8; fi
wait_for "$patience" everything_received || true
look
snapshot
summary
