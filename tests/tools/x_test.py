"""What ./x says before it does anything, and that its lists are well formed."""

import os
import re
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def x(*arguments):
    """Runs ./x from another folder."""
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([os.path.join(ROOT, "x"), *arguments], cwd=folder, capture_output=True, text=True)


class X(unittest.TestCase):
    def test_help_names_every_command(self):
        done = x("help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for command in ("setup", "build", "test", "check", "demo", "bench", "fuzz"):
            self.assertRegex(done.stdout, rf"(?m)^  {command} ")

    def test_no_command_is_an_error(self):
        done = x()
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage:", done.stdout)

    def test_an_unknown_command_gets_a_hint(self):
        done = x("tets")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "x: unknown command 'tets'; did you mean 'test'?; try ./x help\n")

    def test_unknown_arguments_are_refused(self):
        self.assertIn("unknown argument '--fsat'", x("test", "--fsat").stderr)
        self.assertIn("no preset 'relaese'", x("build", "relaese").stderr)
        self.assertIn("no file tests/fuzz/none_fuzz.cpp", x("fuzz", "none").stderr)

    def test_packages_are_listed_in_three_columns(self):
        with open(os.path.join(ROOT, "packages.txt"), encoding="utf-8") as file:
            rows = [line.split() for line in file if not line.startswith("#")]
        for row in rows:
            self.assertEqual(len(row), 3, row)
            self.assertIn(row[0], ("build", "check", "fuzz", "bench", "arm"))

    def test_requirements_are_pinned_by_version_and_hash(self):
        with open(os.path.join(ROOT, "requirements.txt"), encoding="utf-8") as file:
            for line in file:
                if not line.startswith("#"):
                    self.assertTrue(re.fullmatch(r'[\w-]+==[\w.]+( ; sys_platform == "linux")? --hash=sha256:[0-9a-f]{64}\n', line), line)


if __name__ == "__main__":
    unittest.main()
