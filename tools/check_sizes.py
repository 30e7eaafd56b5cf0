"""Sizes: files of about 500 lines, functions of about 60. More is named; far more fails.

A file whose first lines hold `check: table` is a table and may be as long as it needs.
"""

import re

import source_tree

FILE_LINES, FILE_LIMIT = 500, 600
FUNCTION_LINES, FUNCTION_LIMIT = 60, 80
TABLE_MARK = "check: table"

# What may stand between a function's `)` and its `{`, and a constructor's list of initialisers.
_FUNCTION = re.compile(
    r"\)\s*(?:const|noexcept|override|final|mutable|&&?|try|requires[^;]*|->[^;]*|\[\[.*\]\])*(?:\s+(?:const|noexcept|"
    r"override|final))*\s*$|\)[^()]*:(?!:).*[)}]\s*$", re.DOTALL)
_INITIALISER = re.compile(r"\)[^()]*:(?!:).*\w\s*$", re.DOTALL)


def kind_of(head):
    """What a `{` opens, from the text since the last `;`, `{` or `}` of its level."""
    if re.search(r"\bnamespace\b|\bextern\s*$", head):
        return "namespace"
    if re.match(r"\s*(?:template\s*<.*>\s*)?(?:typedef\s+)?(?:class|struct|union|enum)\b[^()]*$", head, re.DOTALL):
        return "type"
    if _INITIALISER.search(head) and not _FUNCTION.search(head):
        return "initialiser"
    return "function" if _FUNCTION.search(head) else "block"


def functions(text):
    """(name, first line, number of lines) of each function outside other functions."""
    code = source_tree.code_only(text)
    stack = []  # (kind, first line, head)
    head_start = 0
    line = 1
    last = 0
    for match in re.finditer(r"[{};]", code):
        at = match.start()
        line += code.count("\n", last, at)
        last = at
        if match[0] == "{":
            head = code[head_start:at]
            outside = all(kind in ("namespace", "type") for kind, _, _, _ in stack)
            kind = kind_of(head) if outside else "block"
            first = line - head.lstrip().count("\n")
            stack.append((kind, first, head, head_start))
            head_start = at + 1
        elif match[0] == "}" and stack:
            kind, first, head, start = stack.pop()
            if kind == "function":
                yield " ".join(head.split("(")[0].split()[-1:]) or "?", first, line - first + 1
            head_start = start if kind == "initialiser" else at + 1
        elif match[0] == ";":
            head_start = at + 1


def check(root):
    """Offences that fail, and those that are only named."""
    fail, name = [], []
    for path in source_tree.files(root, source_tree.CPP + (".py",)):
        text = source_tree.read(root, path)
        if TABLE_MARK in "\n".join(text.split("\n", 10)[:10]):
            continue
        n_lines = text.count("\n")
        if n_lines > FILE_LINES:
            (fail if n_lines > FILE_LIMIT else name).append(f"{path}: {n_lines} lines; want {FILE_LINES}")
        for function, first, size in functions(text) if path.endswith(source_tree.CPP) else ():
            if size > FUNCTION_LINES:
                (fail if size > FUNCTION_LIMIT else name).append(
                    f"{path}:{first}: {function} has {size} lines; want {FUNCTION_LINES}")
    return fail, name
