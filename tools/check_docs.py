"""Generated pages are fresh. Each row of PAGES: the file, and the arguments of `lamella` that print it.

usage: check_docs.py LAMELLA_BINARY [--fix]
"""

import os
import subprocess
import sys

PAGES = [
    ("docs/formats.md", ["formats", "--markdown"]),
    ("docs/models.md", ["models", "--markdown"]),
    ("docs/ops.md", ["ops", "--markdown"]),
    ("docs/tokenizers.md", ["tokenize", "--markdown"]),
]


def check(root, binary, fix=False):
    offences = []
    commands = subprocess.run([binary, "--help"], check=True, capture_output=True, text=True).stdout.split()
    for path, arguments in PAGES:
        if arguments[0] not in commands:
            continue
        want = subprocess.run([binary, *arguments], check=True, capture_output=True).stdout
        full = os.path.join(root, path)
        have = None
        if os.path.exists(full):
            with open(full, "rb") as file:
                have = file.read()
        if have != want and fix:
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "wb") as file:
                file.write(want)
        elif have != want:
            offences.append(f"{path}: not what `lamella {' '.join(arguments)}` prints; ./x check --fix writes it anew")
    return offences


if __name__ == "__main__":
    found = check(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), sys.argv[1], "--fix" in sys.argv[2:])
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
