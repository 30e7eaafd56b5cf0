"""The gate: one line a check, its offenders below it. `./x check [--fast] [--fix]` runs it."""

import argparse
import concurrent.futures
import os
import subprocess
import sys
import time

import check_docs
import check_layers
import check_sizes
import check_text
import source_tree

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLANG_FORMAT, CLANG_TIDY = "clang-format-14", "clang-tidy-14"


def in_parallel(command, paths, batch):
    """Runs `command paths...` over batches of paths; what the failing ones printed."""
    def run(some):
        done = subprocess.run(command + some, cwd=ROOT, capture_output=True, text=True)
        return (done.stdout + done.stderr) if done.returncode else ""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        batches = [paths[i:i + batch] for i in range(0, len(paths), batch)]
        return [text.strip() for text in pool.map(run, batches) if text]


def check_format(options):
    flags = ["-i"] if options.fix else ["--dry-run", "-Werror"]
    printed = in_parallel([CLANG_FORMAT, *flags], source_tree.files(ROOT, source_tree.CPP), 8)
    lines = [line for line in "\n".join(printed).splitlines() if "error:" in line]
    first = {line.split(":")[0]: line.split(":")[1] for line in reversed(lines)}
    return [f"{path}:{line}: not formatted; ./x check --fix does it" for path, line in sorted(first.items())] or printed


def check_shell(_):
    return in_parallel(["shellcheck"], ["x", ".ci/run"] + source_tree.files(ROOT, (".sh",)), 8)


def check_sizes_both(_):
    fail, name = check_sizes.check(ROOT)
    for line in name:
        print("  note: " + line)
    return fail


def check_tidy(_):
    """clang-tidy with the flags of the clang preset, whose warnings are errors here too."""
    build = os.path.join(ROOT, "build", "clang")
    configure = subprocess.run(["cmake", "--preset", "clang"], cwd=ROOT, capture_output=True, text=True)
    if configure.returncode:
        return [configure.stdout + configure.stderr]
    sources = [path for path in source_tree.files(ROOT, (".cpp",)) if path.startswith("src/")]
    printed = "\n".join(in_parallel([CLANG_TIDY, "--quiet", "-p", build], sources, 1))
    return [line for line in printed.splitlines() if not line.endswith("warnings generated.")]


def check_docs_fresh(options):
    return check_docs.check(ROOT, os.path.join(ROOT, "build", "release", "lamella"), options.fix)


# name, what runs it, whether --fast runs it too
CHECKS = [
    ("format", check_format, True),
    ("layers", lambda _: check_layers.check(ROOT), True),
    ("sizes", check_sizes_both, True),
    ("text", lambda _: check_text.check(ROOT), True),
    ("shell", check_shell, True),
    ("docs", check_docs_fresh, False),
    ("tidy", check_tidy, False),
]


def main():
    parser = argparse.ArgumentParser(prog="x check", description="Checks the tree.")
    parser.add_argument("--fast", action="store_true", help="only what needs no build: seconds")
    parser.add_argument("--fix", action="store_true", help="format the sources and write generated pages anew")
    options = parser.parse_args()
    failed = False
    for name, run, fast in CHECKS:
        if options.fast and not fast:
            continue
        start = time.monotonic()
        try:
            offences = run(options)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            offences = [str(error)]
        print(f"{'FAIL' if offences else 'ok'} {name} ({time.monotonic() - start:.1f} s)", flush=True)
        for line in offences:
            print("  " + line.replace("\n", "\n  "))
        failed |= bool(offences)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
