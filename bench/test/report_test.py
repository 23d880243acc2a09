#!/usr/bin/env python3
"""What the report makes of runs."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import report


def run(pair, side, cpu=1000.0, **delivery):
    phase = {"sent": 10, "received": 10, "lost": 0, "duplicates": 0, "reordered": 0,
             "most_workers_per_device": 4 if side == "native" else 1,
             "devices_on_several_workers": 3 if side == "native" else 0, **delivery}
    return {"version": "2.0.11", "qos": 1, "workers": 4, "payload": 100, "pair": pair, "side": side,
            "saturating": {"broker_cpu_ns_per_message": cpu, "per_second": 1e9 / cpu, "broker_kept_waiting": 0.0, "delivery": phase},
            "paced": {"latency_us": {"p50": 50, "p99": 90, "p999": 200}, "broker_kept_waiting": 0.01, "delivery": phase}}


class Report(unittest.TestCase):
    def test_ratio_is_the_median_of_the_pairs_ratios_not_the_ratio_of_medians(self):
        runs = []
        for pair, (native, plugin) in enumerate([(100, 110), (200, 210), (1000, 3000)], 1):
            runs += [run(pair, "native", native), run(pair, "plugin", plugin)]
        ((_, pairs),) = report.pairs_of(runs).items()
        summary = report.summarise(pairs)
        self.assertAlmostEqual(summary["cpu"]["median"], 1.10)
        self.assertAlmostEqual(summary["cpu"]["least"], 1.05)
        self.assertAlmostEqual(summary["cpu"]["most"], 3.0)
        self.assertAlmostEqual(summary["throughput"]["median"], 1 / 1.10)

    def test_half_a_pair_counts_for_nothing(self):
        runs = [run(1, "native"), run(1, "plugin"), run(2, "plugin", 9000)]
        ((_, pairs),) = report.pairs_of(runs).items()
        self.assertEqual(len(pairs), 1)
        self.assertEqual(report.pairs_of([run(1, "native")]), {})

    def test_order_within_a_pair_does_not_matter(self):
        ((_, pairs),) = report.pairs_of([run(1, "plugin", 1200), run(1, "native", 1000)]).items()
        self.assertAlmostEqual(report.summarise(pairs)["cpu"]["median"], 1.2)

    def test_without_a_paced_phase_there_are_no_latencies(self):
        runs = [run(1, "native"), run(1, "plugin")]
        for one in runs:
            del one["paced"]
        ((_, pairs),) = report.pairs_of(runs).items()
        self.assertNotIn("p99", report.summarise(pairs))
        self.assertIn("| - |", report.table(runs, "plugin"))

    def test_loss_duplicates_and_broken_order_are_faults(self):
        self.assertEqual(report.faults(run(1, "native")), [])
        self.assertEqual(report.faults(run(1, "plugin")), [])
        for side in ("native", "plugin"):
            self.assertTrue(report.faults(run(1, side, lost=1)))
            self.assertTrue(report.faults(run(1, side, duplicates=1)))
        self.assertEqual(report.faults(run(1, "native", reordered=5)), [])
        self.assertTrue(report.faults(run(1, "plugin", reordered=1)))
        self.assertTrue(report.faults(run(1, "plugin", devices_on_several_workers=1)))

    def test_a_native_broker_that_looks_sticky_is_no_control(self):
        self.assertTrue(report.faults(run(1, "native", most_workers_per_device=1)))

    def test_a_broker_kept_from_its_core_is_reported(self):
        runs = [run(1, "native"), run(1, "plugin")]
        self.assertNotIn("Disturbed", report.markdown(runs, [], True, "plugin"))
        runs[0]["paced"]["broker_kept_waiting"] = 0.2
        self.assertIn("in 1 of 2 runs", report.markdown(runs, [], True, "plugin"))

    def test_what_was_cut_short_says_so(self):
        self.assertIn("cut short", report.markdown([run(1, "native")], [], False, "plugin"))


if __name__ == "__main__":
    unittest.main()
