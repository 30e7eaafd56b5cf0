"""What `./x bench --counts` takes for a regression, and what it does not compare."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import count_instructions as tool  # noqa: E402


def counts(compiler="gcc 12.2.0", isa="avx2", **cases):
    return {"compiler": compiler, "isa": isa, "cases": cases}


class Compare(unittest.TestCase):
    def worse(self, now, before):
        return tool.compare(counts(**now), counts(**before))[1]

    def test_more_than_the_bound_is_worse(self):
        self.assertEqual(self.worse({"a": 1031, "b": 1030, "c": 900}, {"a": 1000, "b": 1000, "c": 1000}), ["a"])

    def test_cases_on_one_side_only_are_named(self):
        lines, worse = tool.compare(counts(new=5), counts(gone=5))
        self.assertEqual(worse, [])
        self.assertRegex(lines[0], r"^new .* new$")
        self.assertEqual(lines[1].split(), "gone is in the file only".split())

    def test_only_the_same_compiler_and_instruction_set_compare(self):
        self.assertIsNone(tool.why_not_comparable(counts("gcc 12.2.0"), counts("gcc 12.4.1")))
        self.assertEqual(tool.why_not_comparable(counts("gcc 13.1.0"), counts()),
                         "written with gcc 12.2.0, this is gcc 13.1.0")
        self.assertIn("clang 12", tool.why_not_comparable(counts("clang 12.2.0"), counts()))
        self.assertIn("scalar", tool.why_not_comparable(counts(isa="scalar"), counts()))


class Parse(unittest.TestCase):
    def test_output_of_the_program(self):
        self.assertEqual(tool.parse_output("compiler gcc 12.2.0 (Debian)\nisa avx2\ncase a/b\ncase c\n"),
                         ({"compiler": "gcc 12.2.0 (Debian)", "isa": "avx2"}, ["a/b", "c"]))

    def test_total_of_a_dump(self):
        self.assertEqual(tool.total("version: 1\nevents: Ir\nfn=(1)\n3 7\n\ntotals: 4711\n"), 4711)


if __name__ == "__main__":
    unittest.main()
