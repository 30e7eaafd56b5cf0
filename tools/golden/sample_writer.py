"""Writes literal samples between "golden:begin" and "golden:end" in the ops' files: what the scripts beside it share."""
import glob
import math
import re
import textwrap

import numpy as np

cases = {}


def number(v, exact=False):
    if isinstance(v, (int, np.integer, np.bool_)):
        return str(int(v))
    v = float(v)
    if math.isnan(v):
        return "NAN"
    if math.isinf(v):
        return "INFINITY" if v > 0 else "-INFINITY"
    short = f"{v:.9g}"
    return short if exact is False or float(short) == v else repr(v)


def braces(values, exact=False):
    return "{" + ", ".join(number(v, exact) for v in np.ravel(values)) + "}"


def in_(x, dtype=None):
    """An input; NumPy's type decides the element type unless one is given ("" leaves it to the sample's types)."""
    if x is None:
        return "In::absent()"
    x = np.asarray(x)
    dtype = {"int64": "kI64", "int32": "kI32", "int8": "kI8", "uint8": "kU8", "uint32": "kU32", "uint64": "kU64",
             "bool": "kBool"}.get(x.dtype.name, "kF32") if dtype is None else dtype
    typed = f".dtype = {dtype}, " if dtype else ""
    return f"In{{.shape = {braces(x.shape)}, {typed}.values = {braces(x, exact=True)}}}"


def case(op, inputs, attrs, outputs, grad=True):
    """`grad`: finite differences exist at these inputs."""
    ins = ", ".join(i if isinstance(i, str) else in_(i) for i in inputs)
    outs = ", ".join(f"Expect{{{braces(np.shape(y))}, {braces(y)}}}" for y in outputs)
    end = "" if grad else ".grad = false"
    cases.setdefault(op, []).append(f"s.expect(source, {{{ins}}}, {attrs}, {{{outs}}}){end};")


def file_of(op):
    found = [p for end in ("h", "cpp") for p in glob.glob(f"src/ops/*/{op}.{end}")
             if "golden:begin" in open(p, encoding="utf-8").read()]
    assert len(found) == 1, (op, found)
    return found[0]


def write_all(source, files=None):
    """`source` names the script and its libraries with their versions."""
    for op, rows in cases.items():
        path = (files or {}).get(op) or file_of(op)
        text = open(path, encoding="utf-8").read()
        found = re.search(r"( *)// golden:begin\n.*?// golden:end", text, flags=re.S)
        indent = found.group(1)
        lines = [textwrap.fill(c, 100, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)
                 for c in rows]
        named = [indent + "const std::string source =", indent + f'  "{source}";']
        block = "\n".join([indent + "// golden:begin", indent + "// clang-format off"] + named + lines +
                          [indent + "// clang-format on", indent + "// golden:end"])
        open(path, "w", encoding="utf-8").write(text[: found.start()] + block + text[found.end():])
