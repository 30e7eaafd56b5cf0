"""Instructions that each case of kernel_bench takes, beside those of a file written before.

usage: count_instructions.py KERNEL_BENCH COUNTS.json [--write]
Runs `KERNEL_BENCH --counts` under callgrind, which knows no AVX-512: what is counted are the kernels of avx2. Exit 1
when a case takes over 3 % more than the file says. Counts of another major version of the compiler, or of another
instruction set, are not compared. --write makes the file anew.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BOUND = 1.03
FUNCTION = "counted_run"  # in bench/kernel_bench.cpp


def measure(program):
    """{"compiler": ..., "isa": ..., "cases": {name: instructions}}"""
    environment = {k: v for k, v in os.environ.items() if k not in ("ISA", "THREADS")}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--collect-atstart=no", f"--toggle-collect={FUNCTION}",
             f"--dump-after={FUNCTION}", f"--callgrind-out-file={folder}/out", program, "--counts"],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"count_instructions: {program} failed under valgrind:\n{done.stderr[-2000:]}")
        facts, names = parse_output(done.stdout)
        dumps = [pathlib.Path(folder, f"out.{i + 1}") for i in range(len(names))]
        if not names or not all(dump.exists() for dump in dumps):
            sys.exit(f"count_instructions: want a dump for each of {len(names)} cases; got "
                     f"{len(list(pathlib.Path(folder).iterdir()))} files; is {FUNCTION} among the program's symbols?")
        return {**facts, "cases": {name: total(dump.read_text()) for name, dump in zip(names, dumps)}}


def parse_output(text):
    pairs = [line.split(" ", 1) for line in text.splitlines()]
    return {k: v for k, v in pairs if k != "case"}, [v for k, v in pairs if k == "case"]


def total(dump):
    return int(re.search(r"^(?:totals|summary): (\d+)", dump, re.MULTILINE)[1])


def major(compiler):
    return re.match(r"\S+ \d+", compiler)[0]


def why_not_comparable(now, before):
    if major(now["compiler"]) != major(before["compiler"]):
        return f"written with {before['compiler']}, this is {now['compiler']}"
    if now["isa"] != before["isa"]:
        return f"written for {before['isa']}, this is {now['isa']}"
    return None


def compare(now, before):
    """(line to print a case, names of those that take too many)"""
    lines, worse = [], []
    for name, count in now["cases"].items():
        old = before["cases"].get(name)
        change = f"{100 * count / old - 100:+7.2f} %" if old else "      new"
        if old and count > old * BOUND:
            worse.append(name)
        lines.append(f"{name:34} {count:13,} {change}" + ("  MORE" if worse[-1:] == [name] else ""))
    lines += [f"{name:34} is in the file only" for name in before["cases"] if name not in now["cases"]]
    return lines, worse


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    now = measure(options.program)
    print(f"{now['compiler']}, {now['isa']}")
    reason = "written anew" if options.write else None
    before = {"cases": {}}
    if not options.write:
        before = json.loads(options.file.read_text())
        print(f"beside {options.file.name}: {before['compiler']}, {before['isa']}")
        reason = why_not_comparable(now, before)
    if reason:
        for name, count in now["cases"].items():
            print(f"{name:34} {count:13,}")
        print(f"not compared: {reason}")
        if options.write:
            options.file.write_text(json.dumps(now, indent=1) + "\n")
        return 0
    lines, worse = compare(now, before)
    print("\n".join(lines))
    print(f"{len(now['cases'])} cases, {len(worse)} with over {100 * BOUND - 100:.0f} % more instructions"
          + (": " + ", ".join(worse) if worse else ""))
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
