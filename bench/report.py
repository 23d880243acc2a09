"""Turns the runs of a bench into ratios, and these into a Markdown table. Pure: no clock, no file."""

import collections
import statistics

Cell = collections.namedtuple("Cell", "version qos workers payload")

# Name in the results, how to get it from one run of the load generator, what its ratio is called in the table.
METRICS = [
    ("cpu", lambda run: run["saturating"]["broker_cpu_ns_per_message"], "CPU/message"),
    ("throughput", lambda run: run["saturating"]["per_second"], "throughput"),
    ("p50", lambda run: run["paced"]["latency_us"]["p50"], "p50"),
    ("p99", lambda run: run["paced"]["latency_us"]["p99"], "p99"),
    ("p999", lambda run: run["paced"]["latency_us"]["p999"], "p99.9"),
]
PHASES = ("saturating", "paced")
DISTURBED = 0.05  # share of a phase's time for which the broker was ready and had no core


def cell_of(run):
    return Cell(run["version"], run["qos"], run["workers"], run["payload"])


def pairs_of(runs):
    """{cell: [(native run, other run), ...]} of the complete pairs, in the order they were run."""
    sides = collections.defaultdict(dict)
    for run in runs:
        sides[(cell_of(run), run["pair"])][run["side"]] = run
    cells = collections.defaultdict(list)
    for (cell, _), pair in sides.items():
        if len(pair) == 2:
            native = pair.pop("native")
            (other,) = pair.values()
            cells[cell].append((native, other))
    return dict(cells)


def ratios(pairs, metric):
    """One ratio other/native for each pair where both have the metric and native's is not 0."""
    found = []
    for native, other in pairs:
        try:
            found.append(metric(other) / metric(native))
        except (KeyError, ZeroDivisionError):
            continue
    return found


def summarise(pairs):
    """{metric: {"median", "least", "most", "native", "other"}} of one cell; the last two are medians of the absolute
    values. Metrics that no pair has are left out."""
    summary = {}
    for name, metric, _ in METRICS:
        of_pairs = ratios(pairs, metric)
        if of_pairs:
            summary[name] = {
                "median": statistics.median(of_pairs),
                "least": min(of_pairs),
                "most": max(of_pairs),
                "native": statistics.median(metric(native) for native, _ in pairs),
                "other": statistics.median(metric(other) for _, other in pairs),
            }
    return summary


def faults(run):
    """What makes a run's figures worthless, or breaks the promise; empty if nothing does."""
    found = []
    for phase in PHASES:
        delivery = run.get(phase, {}).get("delivery")
        if delivery is None:
            continue
        for kind in ("lost", "duplicates"):
            if delivery[kind]:
                found.append(f"{delivery[kind]} {kind} ({phase})")
        if run["side"] == "plugin":
            if delivery["reordered"]:
                found.append(f"{delivery['reordered']} reordered ({phase})")
            if delivery["devices_on_several_workers"]:
                found.append(f"{delivery['devices_on_several_workers']} devices on several workers ({phase})")
    native = run["saturating"]["delivery"]
    if run["side"] == "native" and run["workers"] > 1 and native["most_workers_per_device"] < 2:
        found.append("native broker kept every device on one worker: no control")
    return found


def _kept_waiting(run):
    return max(run[phase]["broker_kept_waiting"] for phase in PHASES if phase in run)


def disturbed(runs):
    return [run for run in runs if _kept_waiting(run) > DISTURBED]


def table(runs, other):
    """The Markdown table, a row for each cell with at least one complete pair."""
    titles = ["broker", "QoS", "workers", "payload", "pairs", "CPU/message native", other]
    titles += [f"{title} ratio" for _, _, title in METRICS]
    titles += [f"workers/device native, {other}", f"reordered native, {other}"]
    lines = ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]
    for cell, pairs in pairs_of(runs).items():
        summary = summarise(pairs)
        row = [cell.version, cell.qos, cell.workers, f"{cell.payload} B", len(pairs)]
        row += [f"{summary['cpu'][side] / 1000:.2f} µs" for side in ("native", "other")]
        for name, _, _ in METRICS:
            if name in summary:
                ratio = summary[name]
                row.append(f"**{ratio['median']:.3f}** ({ratio['least']:.2f}–{ratio['most']:.2f})")
            else:
                row.append("-")
        row.append(", ".join(str(_most(pairs, side, "most_workers_per_device", max)) for side in (0, 1)))
        row.append(", ".join(str(_most(pairs, side, "reordered", sum)) for side in (0, 1)))
        lines.append("| " + " | ".join(str(field) for field in row) + " |")
    return "\n".join(lines)


def _most(pairs, side, field, combine):
    return combine(pair[side][phase]["delivery"][field] for pair in pairs for phase in PHASES if phase in pair[side])


def markdown(runs, facts, complete, other):
    """The whole readable result. `facts`: (name, text) of machine, versions, date and settings; `other`: what native is
    compared with."""
    lines = ["# Plugin against native broker", ""]
    lines += [f"- {name}: {text}" for name, text in facts]
    if not complete:
        lines.append("- **cut short**: only the pairs below were measured")
    lines += ["", table(runs, other), ""]
    lines.append(f"Ratios are {other}/native: the median over the pairs (least–most).")
    noisy = disturbed(runs)
    if noisy:
        worst = max(_kept_waiting(run) for run in noisy)
        lines.append(
            f"\n**Disturbed**: in {len(noisy)} of {len(runs)} runs the broker was ready and had no core for more than "
            f"{DISTURBED:.0%} of a phase (worst {worst:.0%}). Throughput and latency of this result say little; "
            "CPU per message suffers less."
        )
    broken = [(run, found) for run in runs if (found := faults(run))]
    if broken:
        lines.append("\n**Faults**:\n")
        for run, found in broken:
            lines.append(f"- {_name(run)}: {'; '.join(found)}")
    return "\n".join(lines) + "\n"


def _name(run):
    return f"{run['version']} QoS {run['qos']} {run['workers']} workers, pair {run['pair']}, {run['side']}"
