"""The test runner counts cases, survives crashes and hangs, and ends with the count."""

import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest

RUNNER = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "run_tests.py")

# Stands in for a GoogleTest binary: CASES maps names to what the case does.
FAKE_BINARY = """\
#!/usr/bin/env python3
import os, sys, time
CASES = %r
if "--gtest_list_tests" in sys.argv:
    print("Running main() from somewhere.cc")
    for suite in dict.fromkeys(name.split(".")[0] for name in CASES):
        print(suite + ".")
        for name in CASES:
            if name.startswith(suite + "."):
                print("  " + name.split(".")[1] + "  # GetParam() = 3")
    sys.exit(0)
chosen = [a for a in sys.argv if a.startswith("--gtest_filter=")][0].split("=")[1].split(":")
code = 0
for name in CASES:
    if name not in chosen:
        continue
    print("[ RUN      ] " + name, flush=True)
    what = CASES[name]
    if what == "crash": os.abort()
    if what == "hang": time.sleep(60)
    if what == "exit": sys.exit(3)
    if what == "fail":
        print("a.cpp:1: Failure")
        print("[  FAILED  ] " + name + ", where GetParam() = 3 (1 ms)", flush=True)
        code = 1
    if what == "skip":
        print("a.cpp:2: Skipped")
        print("no such file")
        print()
        print("[  SKIPPED ] " + name + " (0 ms)", flush=True)
    if what == "pass":
        print("[       OK ] " + name + " (0 ms)", flush=True)
sys.exit(code)
"""


class RunTests(unittest.TestCase):
    def run_with(self, cases, *flags, command=None):
        """Runs the runner over a made-up build folder; gives its exit code and the lines it printed."""
        with tempfile.TemporaryDirectory() as folder:
            binary = os.path.join(folder, "fake_tests")
            with open(binary, "w", encoding="utf-8") as file:
                file.write(FAKE_BINARY % cases)
            os.chmod(binary, stat.S_IRWXU)
            listing = "add_test(fake_tests %s)\nset_tests_properties(fake_tests PROPERTIES LABELS gtest)\n" % json.dumps(binary)
            if command:
                listing += "add_test(plain %s)\n" % " ".join(map(json.dumps, command))
            with open(os.path.join(folder, "CTestTestfile.cmake"), "w", encoding="utf-8") as file:
                file.write(listing)
            done = subprocess.run([sys.executable, RUNNER, folder, "--jobs", "2", *flags], capture_output=True, text=True)
            self.assertEqual(done.stderr, "")
            return done.returncode, done.stdout.splitlines()

    def test_all_pass(self):
        code, lines = self.run_with({"A.x": "pass", "A.y": "pass", "B.z": "pass"})
        self.assertEqual((code, lines[-1]), (0, "3 passed, 0 failed"))

    def test_a_failure_is_shown_and_counted(self):
        code, lines = self.run_with({"A.x": "pass", "A.y": "fail"})
        self.assertEqual((code, lines[-1]), (1, "1 passed, 1 failed"))
        self.assertIn("FAILED A.y", lines)
        self.assertIn("a.cpp:1: Failure", lines)

    def test_a_skip_has_its_reason(self):
        code, lines = self.run_with({"A.x": "pass", "A.y": "skip", "A.DISABLED_z": "pass"})
        self.assertEqual((code, lines[-1]), (0, "1 passed, 0 failed, 2 skipped"))
        self.assertIn("skipped A.y: no such file", lines)

    def test_cases_after_a_crash_still_run(self):
        code, lines = self.run_with({"A.a": "pass", "A.b": "crash", "A.c": "pass", "A.d": "exit", "A.e": "pass"})
        self.assertEqual((code, lines[-1]), (1, "3 passed, 2 failed"))
        self.assertIn("ended by signal SIGABRT", lines)

    def test_a_hang_is_killed(self):
        code, lines = self.run_with({"A.a": "hang", "A.b": "pass"}, "--silence", "1")
        self.assertEqual((code, lines[-1]), (1, "1 passed, 1 failed"))
        self.assertIn("killed: it printed nothing for 1.0 s", lines)

    def test_a_plain_command_counts_as_one(self):
        fails = [sys.executable, "-c", "print('why'); raise SystemExit(5)"]
        code, lines = self.run_with({"A.a": "pass"}, command=fails)
        self.assertEqual((code, lines[-1]), (1, "1 passed, 1 failed"))
        self.assertIn("why", lines)
        code, lines = self.run_with({"A.a": "pass"}, command=[sys.executable, "-c", ""])
        self.assertEqual((code, lines[-1]), (0, "2 passed, 0 failed"))

    def test_a_filter_chooses(self):
        code, lines = self.run_with({"A.a": "pass", "B.b": "fail"}, "--filter", "A.*")
        self.assertEqual((code, lines[-1]), (0, "1 passed, 0 failed"))
        code, lines = self.run_with({"A.a": "pass"}, "--filter", "nothing")
        self.assertEqual((code, lines[-1]), (1, "0 passed, 0 failed"))

    def test_a_binary_that_cannot_be_listed_fails(self):
        code, lines = self.run_with("not a dictionary")
        self.assertEqual((code, lines[-1]), (1, "0 passed, 1 failed"))


if __name__ == "__main__":
    unittest.main()
