"""What no tracked file may hold: machine paths, words about how it was made, empty names, unsorted tables."""

import os
import re

import source_tree

TEXT = source_tree.CPP + (".py", ".sh", ".md", ".cmake", ".txt", ".json", ".in", "x", "run")
MAX_FILE_BYTES = 1 << 20
MAX_GOLDEN_BYTES = 6 << 20
EMPTY_NAMES = re.compile(r"(?:^|/)(?:utils?|helpers?|common|misc|manager)\.|_v[0-9]+\.|/legacy/")
# Brackets keep this file from matching itself.
FORBIDDEN = re.compile(
    r"/(?:w[o]rk|f[a]rm|r[o]ot)/|/h[o]me/\w|/t[m]p/[a-z]"
    r"|\b(?:c[l]aude|c[h]atgpt|sub-?a[g]ents?)\b"
    r"|\bF[I]XME\b|T[O]DO(?!\()|not y[e]t implemented"
    r"|^(?:<{7}|={7}|>{7})(?: |$)", re.IGNORECASE)
BEGIN, END = "sorted:begin", "sorted:end"


def unsorted_lines(text):
    """(line number, line) of the rows between sorted:begin and sorted:end that come too late in their table.

    Rows are the lines with the least indent; comments and lines that go on with a row are skipped."""
    rows, inside = [], False
    for number, line in enumerate(text.splitlines(), 1):
        comment = line.strip().startswith(("//", "#"))
        if comment and BEGIN in line:
            rows, inside = [], True
        elif comment and END in line:
            inside = False
            indent = min((len(row) - len(row.lstrip()) for _, row in rows), default=0)
            rows = [(n, row) for n, row in rows if len(row) - len(row.lstrip()) == indent]
            yield from ((n, row) for (_, before), (n, row) in zip(rows, rows[1:]) if row < before)
        elif inside and line.strip() and not comment:
            rows.append((number, line))
    if inside:
        yield len(text.splitlines()), f"{BEGIN} without {END}"


def text_offences(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        found = FORBIDDEN.search(line)
        if found:
            yield f"{path}:{number}: '{found[0]}' does not belong in the tree"
        if line != line.rstrip() and not path.endswith(".md"):
            yield f"{path}:{number}: space at the end of the line"
    if text and not text.endswith("\n"):
        yield f"{path}: no newline at the end"
    if "\r\n" in text:
        yield f"{path}: line ends of Windows"
    for number, row in unsorted_lines(text):
        yield f"{path}:{number}: not in order: {row.strip()}"


def check(root):
    offences, golden_bytes = [], 0
    for path in source_tree.files(root):
        size = os.path.getsize(os.path.join(root, path))
        golden_bytes += size if path.startswith("tests/golden/") else 0
        if size > MAX_FILE_BYTES:
            offences.append(f"{path}: {size} bytes; want at most {MAX_FILE_BYTES}")
        if EMPTY_NAMES.search(path):
            offences.append(f"{path}: its name says nothing")
        if path.endswith(TEXT) and not path.startswith(("tests/golden/", "tests/fuzz/corpus/")):
            offences += text_offences(path, source_tree.read(root, path))
    if golden_bytes > MAX_GOLDEN_BYTES:
        offences.append(f"tests/golden: {golden_bytes} bytes; want at most {MAX_GOLDEN_BYTES}")
    return offences
