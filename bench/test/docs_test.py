#!/usr/bin/env python3
"""README.md names only options that exist, and every option of run.py; the load generator refuses what it does not know.
Argument: path of the load generator."""

import pathlib
import re
import subprocess
import sys
import unittest

BENCH = pathlib.Path(__file__).resolve().parent.parent
GENERATOR = sys.argv.pop(1)


def options_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def said_by(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)


class Documentation(unittest.TestCase):
    def test_readme_and_help_name_the_same_options(self):
        readme = options_in((BENCH / "README.md").read_text(encoding="utf-8"))
        helped = options_in(said_by(sys.executable, str(BENCH / "run.py"), "--help").stdout)
        self.assertEqual(readme - helped, set(), "in README.md, not in run.py")
        self.assertEqual(helped - readme - {"--help"}, set(), "in run.py, not in README.md")

    def test_run_passes_only_options_the_generator_has(self):
        usage = said_by(GENERATOR, "--help")
        self.assertEqual(usage.returncode, 0)
        passed = re.findall(r'"([a-z][a-z-]*)": (?:broker|cell|options|limit_ms)', (BENCH / "run.py").read_text(encoding="utf-8"))
        self.assertIn("qos", passed)
        self.assertEqual({f"--{name}" for name in passed} - options_in(usage.stdout), set())

    def test_generator_refuses_bad_command_lines(self):
        needed = ["--port", "1", "--broker-pid", "1"]
        for wrong, named in (
            ([], "--port"),
            (["--port", "1"], "--broker-pid"),
            ([*needed, "--port", "2"], "--broker-pid"),
            ([*needed, "--qos", "3"], "--qos"),
            ([*needed, "--qos", "1x"], "--qos"),
            ([*needed, "--qos"], "--qos"),
            ([*needed, "--quos", "1"], "--quos"),
        ):
            answer = said_by(GENERATOR, *wrong)
            self.assertEqual(answer.returncode, 2, wrong)
            self.assertIn(named, answer.stderr)


if __name__ == "__main__":
    unittest.main()
