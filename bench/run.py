#!/usr/bin/env python3
"""Measures what the plugin costs a Mosquitto broker: runs it with and without the plugin in turn under the same load and
prints the ratios of broker CPU per message, throughput and latency. README.md here says how to read them."""

import argparse
import contextlib
import datetime
import itertools
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import tempfile

import report
from broker import Broker, BrokerError, Installation, prepare_child

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
GENERATOR_GRACE_S = 30


def numbers(text):
    return [int(part) for part in text.split(",")]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    brokers = parser.add_argument_group("brokers")
    brokers.add_argument("--root", action="append", default=[], help="also a Mosquitto unpacked below this folder; repeatable")
    brokers.add_argument("--no-system", action="store_true", help="leave out the Mosquitto that is installed")
    brokers.add_argument("--null", action="store_true", help="native against native: shows what difference is only noise")
    brokers.add_argument("--plugin-opt", action="append", default=[], metavar="'NAME VALUE'",
                         help="a further option of the plugin, e.g. 'stamp off'; repeatable")
    cells = parser.add_argument_group("cells")
    cells.add_argument("--qos", type=numbers, default=[0, 1], help="comma-separated")
    cells.add_argument("--workers", type=numbers, default=[4, 16], help="comma-separated")
    cells.add_argument("--payload", type=numbers, default=[100], help="bytes, comma-separated")
    cells.add_argument("--pairs", type=int, default=5, help="of runs in each cell")
    cells.add_argument("--quick", action="store_true", help="2 pairs of short runs: shows that it works, measures nothing")
    load = parser.add_argument_group("load")
    load.add_argument("--messages", type=int, default=200_000, help="of the saturating phase")
    load.add_argument("--window", type=int, default=256, help="messages outstanding in the saturating phase")
    load.add_argument("--slice", type=int, default=5_000, help="of these on one broker before it is the other's turn")
    load.add_argument("--paced-messages", type=int, default=20_000, help="of the paced phase; 0: no latencies")
    load.add_argument("--paced-rate", type=int, default=4_000, help="messages a second in the paced phase")
    load.add_argument("--warm-up-ms", type=int, default=1_500, help="paced and unmeasured")
    load.add_argument("--publishers", type=int, default=8)
    load.add_argument("--devices", type=int, default=256)
    load.add_argument("--worker-protocol", type=int, choices=[4, 5], default=5, help="only 5 gets the stamp")
    load.add_argument("--spin", type=int, choices=[0, 1], default=0, help="1: the generator polls without sleeping while paced")
    where = parser.add_argument_group("files")
    where.add_argument("--output", type=pathlib.Path, help="folder of the results (default: below the build folder, by date)")
    where.add_argument("--build", type=pathlib.Path, default=REPOSITORY / "build-bench", help="build folders start with this")
    where.add_argument("--generator", type=pathlib.Path, help="a load_generator already built")
    where.add_argument("--plugin", action="append", default=[], type=pathlib.Path,
                       help="a plugin already built; once for each broker, the system's first")
    machine = parser.add_argument_group("machine")
    machine.add_argument("--no-pin", action="store_true", help="do not give broker and generator a core each")
    machine.add_argument("--realtime", action="store_true",
                         help="both before all ordinary processes (SCHED_RR; needs the right to): for a machine with other work")
    options = parser.parse_args()
    if options.quick:
        options.pairs = 2
        options.messages = 4_000
        options.slice = 1_000
        options.paced_messages = 400
        options.warm_up_ms = 300
    if options.no_system and not options.root:
        parser.error("--no-system needs a --root")
    brokers_count = len(options.root) + (not options.no_system)
    if options.plugin and len(options.plugin) != brokers_count:
        parser.error(f"--plugin: {brokers_count} broker(s), so give it that many times or never")
    return options


def build(installation, folder, targets):
    """Builds `targets` for that broker; the compiler's words go to a log, shown only if it fails."""
    print(f"building {', '.join(targets)} for {installation.version} in {folder}", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    configure = ["cmake", "-S", str(REPOSITORY), "-B", str(folder), "-DKEYED_STICKY_BENCH=ON", "-DKEYED_STICKY_TESTS=OFF"]
    if not (folder / "CMakeCache.txt").exists():
        configure += ["-G", "Ninja"]
    for command in ([*configure, *installation.cmake_arguments()],
                    ["cmake", "--build", str(folder), "-j", "2", "--target", *targets]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout}")


def prepare(options):
    """([(installation, plugin or None)], generator), built where not given."""
    installations = [] if options.no_system else [Installation()]
    installations += [Installation(root) for root in options.root]
    generator = options.generator
    plugins = list(options.plugin)
    subjects = []
    for installation in installations:
        folder = options.build.with_name(f"{options.build.name}-{installation.version}")
        targets = []
        if generator is None:
            targets.append("load_generator")
            generator = folder / "bench" / "load_generator"
        plugin = None
        if not options.null:
            if plugins:
                plugin = plugins.pop(0).resolve()
            else:
                targets.append("mosquitto_keyed_sticky")
                plugin = folder / "mosquitto_keyed_sticky.so"
        if targets:
            build(installation, folder, targets)
        subjects.append((installation, plugin))
    return subjects, generator


def choose_cores(options):
    """(broker's, generator's); None: anywhere."""
    cores = sorted(os.sched_getaffinity(0))
    if options.no_pin or len(cores) < 2:
        return None, None
    return cores[-1], cores[-2]


def measure(options, generator, brokers, cell, core):
    """One run of the load generator on brokers in turn: a dictionary for each, in their order."""
    limit_ms = 60_000 + 1_000 * options.messages // 2_000
    command = [str(generator)]
    for broker in brokers:
        command += ["--port", str(broker.port), "--broker-pid", str(broker.pid)]
    settings = {
        "qos": cell["qos"], "workers": cell["workers"],
        "payload": cell["payload"], "publishers": options.publishers, "devices": options.devices,
        "worker-protocol": options.worker_protocol, "messages": options.messages, "window": options.window, "slice": options.slice,
        "paced-messages": options.paced_messages, "paced-rate": options.paced_rate,
        "warm-up-ms": options.warm_up_ms, "limit-ms": limit_ms, "spin": options.spin,
    }
    for name, value in settings.items():
        command += [f"--{name}", str(value)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True, 
                               preexec_fn=prepare_child(core, options.realtime))
    try:
        said, _ = process.communicate(timeout=3 * limit_ms / 1000 + GENERATOR_GRACE_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    if process.returncode != 0:
        logs = "\n".join(broker.log_path.read_text(encoding="utf-8", errors="replace") for broker in brokers)
        raise BrokerError(f"the load generator ended with {process.returncode}; the brokers said:\n{logs}")
    return [json.loads(line) for line in said.splitlines()]


def plan(options, subjects):
    """Every pair, in order: (installation, cell, [(side, plugin or None), ...]). The side that goes first changes from pair to pair."""
    other = "native again" if options.null else "plugin"
    for (installation, plugin), payload, qos, workers in itertools.product(
            subjects, options.payload, options.qos, options.workers):
        for pair in range(1, options.pairs + 1):
            sides = [("native", None), (other, plugin)]
            cell = {"version": installation.version, "qos": qos, "workers": workers, "payload": payload, "pair": pair}
            yield installation, cell, sides if pair % 2 else sides[::-1]


def run_pair(options, generator, installation, cell, sides):
    """Both brokers at the same time, loaded in turn: [run, run]."""
    broker_core, generator_core = choose_cores(options)
    with contextlib.ExitStack() as stack:
        brokers = []
        for _, plugin in sides:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="keyed-sticky-bench-"))
            prepare_broker = prepare_child(broker_core, options.realtime)
            brokers.append(stack.enter_context(Broker(installation, folder, plugin, options.plugin_opt, prepare_broker)))
        measured = measure(options, generator, brokers, cell, generator_core)
    return [{**figures, **cell, "side": side} for figures, (side, _) in zip(measured, sides, strict=True)]


def run_all(options, subjects, generator, results):
    """Appends each run to `results` (a file, one JSON line each) and yields it."""
    steps = list(plan(options, subjects))
    for number, (installation, cell, sides) in enumerate(steps, 1):
        for run in run_pair(options, generator, installation, cell, sides):
            results.write(json.dumps(run) + "\n")
            results.flush()
            print(f"[{number}/{len(steps)}] {progress(run)}", flush=True)
            yield run


def progress(run):
    saturating = run["saturating"]
    line = (f"{run['version']} QoS {run['qos']} {run['workers']:>2} workers pair {run['pair']} {run['side']:<12} "
            f"{saturating['broker_cpu_ns_per_message'] / 1000:6.2f} µs/message {saturating['per_second']:7.0f}/s")
    if "paced" in run:
        latency = run["paced"]["latency_us"]
        line += f"  p50 {latency['p50']:.0f} µs p99 {latency['p99']:.0f} µs"
    return "; ".join([line, *report.faults(run)])


def facts_of(options, subjects):
    model = next((line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())
    return [
        ("date", datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")),
        ("machine", f"{model}, {os.cpu_count()} cores, Linux {platform.release()}, load {os.getloadavg()[0]:.1f} at the start"),
        ("brokers", ", ".join(installation.version for installation, _ in subjects)),
        ("revision", revision()),
        ("compared", "native with native (noise)" if options.null else "plugin with native, plugin's options: "
         + ("defaults but for " + ", ".join(options.plugin_opt) if options.plugin_opt else "defaults, so stamp on")),
        ("load", f"{options.publishers} publishers, {options.devices} devices, payload "
                 f"{', '.join(map(str, options.payload))} B, MQTT 5 publishers, "
                 f"MQTT {'5' if options.worker_protocol == 5 else '3.1.1'} workers; saturating: {options.messages} messages, "
                 f"{options.window} outstanding; paced: {options.paced_messages} messages at {options.paced_rate}/s"),
        ("cores", ("shared" if choose_cores(options)[0] is None else "broker and generator pinned to one each")
         + (", both real-time" if options.realtime else "")),
    ]


def revision():
    asked = subprocess.run(["git", "-C", str(REPOSITORY), "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() or "unknown"


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    options = parse_arguments()
    signal.signal(signal.SIGTERM, interrupt)
    runs = []
    complete = False
    try:
        subjects, generator = prepare(options)
    except BrokerError as error:
        sys.exit(f"bench: {error}")
    facts = facts_of(options, subjects)
    output = options.output or options.build.with_name(options.build.name + "-results") / datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    output.mkdir(parents=True, exist_ok=True)
    trouble = None
    try:
        with open(output / "runs.jsonl", "w", encoding="utf-8") as results:
            for run in run_all(options, subjects, generator, results):
                runs.append(run)
        complete = True
    except KeyboardInterrupt:
        trouble = "cut short"
    except (BrokerError, subprocess.TimeoutExpired) as error:
        trouble = str(error)
    text = report.markdown(runs, facts, complete, "native again" if options.null else "plugin")
    (output / "results.md").write_text(text, encoding="utf-8")
    summary = [{**cell._asdict(), "pairs": len(pairs), "ratios": report.summarise(pairs)} for cell, pairs in report.pairs_of(runs).items()]
    (output / "summary.json").write_text(json.dumps({"facts": dict(facts), "complete": complete, "cells": summary}, indent=1) + "\n", encoding="utf-8")
    print(f"\n{text}\nwritten to {output}/results.md, summary.json (ratios) and runs.jsonl (every run)")
    if trouble:
        print(f"bench: {trouble}", file=sys.stderr)
        return 130 if trouble == "cut short" else 1
    return 1 if any(report.faults(run) for run in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
