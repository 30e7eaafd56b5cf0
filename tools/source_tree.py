"""The files of the tree as the checks see them: what git tracks or would track."""

import os
import re
import subprocess

CPP = (".h", ".cpp")


def files(root, endings=()):
    """Paths relative to root, sorted; only names with one of the endings when there are any. Links are left out."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    text = subprocess.run(command, cwd=root, check=True, capture_output=True).stdout.decode()
    paths = sorted(path for path in set(text.split("\0")) if path and path.endswith(tuple(endings) or ""))
    return [p for p in paths if os.path.isfile(os.path.join(root, p)) and not os.path.islink(os.path.join(root, p))]


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace", newline="") as file:
        return file.read()


# Comments, raw strings, strings, character literals (not the ' of 1'000), preprocessor lines with continuations.
_NOT_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r'|R"(?P<delimiter>[^()\s]*)\(.*?\)(?P=delimiter)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])*'"
    r"|^[ \t]*\#(?:[^\n\\]|\\\n|\\.)*", re.DOTALL | re.MULTILINE)


def code_only(text):
    """C++ text with everything blanked that is not code; line numbers stay."""
    return _NOT_CODE.sub(lambda match: "\n" * match[0].count("\n") or " ", text)
