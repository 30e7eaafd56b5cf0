"""The checks of ./x check find what they are for, and pass what is fine."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import check_docs  # noqa: E402
import check_layers  # noqa: E402
import check_sizes  # noqa: E402
import check_text  # noqa: E402

TABLE = """
| folder | what it holds | may include |
|---|---|---|
| `base/` | errors | nothing |
| `ir/` | graphs | `base` |
| `kernels/` | loops | `base` |
| `runtime/` | programs | `ir` |
| `cli/` | commands | everything above |
"""


class Tree:
    """A scratch git tree with the given files."""

    def __init__(self, files):
        self.folder = tempfile.TemporaryDirectory()
        self.root = self.folder.name
        subprocess.run(["git", "init", "-q", self.root], check=True)
        for path, text in files.items():
            full = os.path.join(self.root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8", newline="") as file:
                file.write(text)

    def __enter__(self):
        return self.root

    def __exit__(self, *_):
        self.folder.cleanup()


class Layers(unittest.TestCase):
    def offences(self, path, text):
        files = {"ARCHITECTURE.md": TABLE, "cmake/install.cmake": "set(PUBLIC_FOLDERS base ir runtime)\n", path: text}
        with Tree(files) as root:
            return check_layers.check(root)

    def test_what_is_allowed_passes(self):
        self.assertEqual(self.offences("src/runtime/a.h", '#include "lamella/base/x.h"\n#include <vector>\n'), [])
        self.assertEqual(self.offences("src/cli/a.cpp", '#include "lamella/kernels/cpu/x.h"\n#include <CLI/CLI.hpp>\n'), [])

    def test_an_include_upwards_fails(self):
        found = self.offences("src/ir/a.cpp", '\n#include "lamella/runtime/x.h"\n')
        self.assertEqual(found, ["src/ir/a.cpp:2: ir may not include runtime (lamella/runtime/x.h)"])

    def test_a_path_that_is_not_public_fails(self):
        self.assertEqual(len(self.offences("src/ir/a.cpp", '#include "a.h"\n')), 1)

    def test_installed_headers_include_only_what_is_installed(self):
        self.assertEqual(len(self.offences("src/ir/a.h", "#include <nlohmann/json.hpp>\n")), 1)
        self.assertEqual(len(self.offences("src/cli/a.h", '#include "lamella/kernels/x.h"\n')), 0)

    def test_a_folder_without_a_row_fails(self):
        self.assertIn("no row", self.offences("src/new/a.cpp", "")[0])

    def test_a_table_that_names_what_it_lacks_is_refused(self):
        with self.assertRaises(ValueError):
            check_layers.read_table("| `ir/` | graphs | `nothing_there` |\n")


class Sizes(unittest.TestCase):
    def functions(self, text):
        return [(name, first, size) for name, first, size in check_sizes.functions(text)]

    def test_functions_and_methods(self):
        text = "namespace a {\nint f(int x) {\n  if (x) {\n  }\n  return 1;\n}\nstruct S {\n  int g() const {\n  }\n};\n}\n"
        self.assertEqual(self.functions(text), [("f", 2, 5), ("g", 8, 2)])

    def test_constructors_with_lists(self):
        text = "S::S(int x)\n    : a_{x}, b_(2) {\n  f();\n}\nS::S() : a_{1} {}\n"
        self.assertEqual(self.functions(text), [("S::S", 1, 4), ("S::S", 5, 1)])

    def test_tables_strings_and_comments_are_no_functions(self):
        text = 'const int kA[] = {\n1,\n};\n// f() {\nconst char* s = "g() {";\nconst auto r = R"(h() {)";\nstruct T { int x = 0; };\n'
        self.assertEqual(self.functions(text), [])

    def test_a_long_function_and_a_long_file_fail(self):
        long_function = "void f() {\n" + "  g();\n" * 90 + "}\n"
        long_file = "int x;\n" * 700
        files = {"src/a.cpp": long_function, "src/b.cpp": long_file, "src/c.cpp": "// check: table\n" + long_file}
        with Tree(files) as root:
            fail, _ = check_sizes.check(root)
        self.assertEqual(fail, ["src/a.cpp:1: f has 92 lines; want 60", "src/b.cpp: 700 lines; want 500"])


class Text(unittest.TestCase):
    def offences(self, path, text):
        with Tree({path: text}) as root:
            return check_text.check(root)

    def test_what_does_not_belong(self):
        path = "/ho" + "me/someone"
        self.assertEqual(self.offences("a.md", f"see {path}\n"), [f"a.md:1: '{path[:7]}' does not belong in the tree"])
        self.assertEqual(len(self.offences("src/a.h", "// TO" + "DO write this\n")), 1)
        self.assertEqual(self.offences("src/a.h", "// TO" + "DO(12) write this\n"), [])

    def test_names_that_say_nothing(self):
        self.assertEqual(self.offences("src/ir/utils.h", ""), ["src/ir/utils.h: its name says nothing"])

    def test_white_space(self):
        self.assertEqual(len(self.offences("src/a.h", "int a; \n")), 1)
        self.assertEqual(len(self.offences("src/a.h", "int a;")), 1)
        self.assertEqual(len(self.offences("src/a.md", "a\r\n")), 1)

    def test_order(self):
        rows = '// sorted:begin\n{"a", 1},\n// why\n{%s, 2,\n  "a"},\n// sorted:end\nint a;\n'
        self.assertEqual(self.offences("src/a.cpp", rows % '"b"'), [])
        self.assertEqual(self.offences("src/a.cpp", rows % '"A"'), ['src/a.cpp:4: not in order: {"A", 2,'])

    def test_golden_has_a_budget(self):
        found = self.offences("tests/golden/a.bin", "0" * (7 << 20))
        self.assertEqual(len(found), 2)


class Docs(unittest.TestCase):
    def test_a_stale_page_is_named_and_fixed(self):
        with tempfile.TemporaryDirectory() as root:
            binary = os.path.join(root, "fake")
            with open(binary, "w", encoding="utf-8") as file:
                file.write('#!/bin/sh\nif [ "$1" = --help ]; then echo "  ops"; else echo "page: $*"; fi\n')
            os.chmod(binary, 0o700)
            self.assertEqual(len(check_docs.check(root, binary)), 1)
            self.assertEqual(check_docs.check(root, binary, fix=True), [])
            self.assertEqual(check_docs.check(root, binary), [])


if __name__ == "__main__":
    unittest.main()
