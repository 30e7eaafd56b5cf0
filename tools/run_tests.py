"""Runs every test that ctest knows in BUILD_DIR and ends with the line `N passed, N failed[, N skipped]`.

A test labelled `gtest` is a GoogleTest binary: its cases are counted one by one and run in parallel, a suite (or a
part of a long one) a process. Any other test counts as one case. A process that prints nothing for --silence seconds
is killed; a case that crashes or hangs fails by name and the cases after it still run.
"""

import argparse
import concurrent.futures
import dataclasses
import fnmatch
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time

MAX_CASES_A_PROCESS = 100
RUN_LINE = re.compile(r"^\[ RUN      \] (\S+)")
END_LINE = re.compile(r"\[\s+(OK|FAILED|SKIPPED)\s+\] ([^\s,]+)(?:,.*)? \(\d+ ms\)$")


@dataclasses.dataclass
class Job:
    name: str  # the name in ctest: base_tests
    command: list  # program and arguments
    cwd: str
    cases: list  # full names of GoogleTest cases; None for a plain command

    def key(self):
        return self.name if self.cases is None else f"{self.name}:{self.cases[0]}"


@dataclasses.dataclass
class Result:
    name: str
    status: str  # passed, failed, skipped
    text: str = ""  # what it printed: the failure, or the reason of the skip
    rerun: str = ""


def ctest_list(build_dir):
    text = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build_dir, check=True, capture_output=True).stdout
    for test in json.loads(text)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        yield test["name"], test["command"], properties.get("WORKING_DIRECTORY", build_dir), properties.get("LABELS", [])


def list_cases(command, cwd):
    """Full names of the cases of a GoogleTest binary, suite by suite."""
    text = subprocess.run(command + ["--gtest_list_tests"], cwd=cwd, check=True, capture_output=True, timeout=120).stdout
    suites = {}
    suite = ""
    for line in text.decode().splitlines():
        word = line.split("#")[0].strip()
        if line.startswith(" "):
            suites[suite].append(suite + word)
        elif word.endswith("."):
            suite = word
            suites[suite] = []
    return suites


def matches(name, pattern):
    return not pattern or fnmatch.fnmatchcase(name, pattern if "*" in pattern else f"*{pattern}*")


def make_jobs(build_dir, pattern):
    """The jobs, and a Result for each case that is disabled or whose binary cannot be listed."""
    jobs, results = [], []
    for name, command, cwd, labels in ctest_list(build_dir):
        if "gtest" not in labels:
            if matches(name, pattern):
                jobs.append(Job(name, command, cwd, None))
            continue
        try:
            suites = list_cases(command, cwd)
        except (OSError, subprocess.SubprocessError) as error:
            results.append(Result(name, "failed", f"cannot list its cases: {error}\n"))
            continue
        for cases in suites.values():
            chosen = [case for case in cases if matches(case, pattern) or (pattern and matches(name, pattern))]
            disabled = [case for case in chosen if "DISABLED_" in case]
            results += [Result(case, "skipped", "disabled in the source") for case in disabled]
            chosen = [case for case in chosen if case not in disabled]
            for i in range(0, len(chosen), MAX_CASES_A_PROCESS):
                jobs.append(Job(name, command, cwd, chosen[i:i + MAX_CASES_A_PROCESS]))
    return jobs, results


def lines_of(process, silence):
    """Yields the lines a process prints; kills its group and yields None once it is silent for too long."""
    fd = process.stdout.fileno()
    pending = b""
    with selectors.DefaultSelector() as selector:
        selector.register(fd, selectors.EVENT_READ)
        while True:
            if not selector.select(silence):
                os.killpg(process.pid, signal.SIGKILL)
                yield None
                return
            data = os.read(fd, 1 << 16)
            if not data:
                break
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                yield line.decode(errors="replace") + "\n"
    if pending:
        yield pending.decode(errors="replace") + "\n"


def run_process(command, cwd, silence, folder):
    """`folder` is for the files of this process alone (testing::TempDir)."""
    process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True,
                               env={**os.environ, "TEST_TMPDIR": folder + "/"})
    return process, lines_of(process, silence)


def ending(process, hung, silence):
    """How a process ended, in words; empty when it ended well."""
    process.stdout.close()
    code = process.wait()
    if hung:
        return f"killed: it printed nothing for {silence} s\n"
    if code < 0:
        return f"ended by signal {signal.Signals(-code).name}\n"
    return f"exit code {code}\n" if code else ""


def run_command(job, silence, folder):
    process, lines = run_process(job.command, job.cwd, silence, folder)
    printed = list(lines)
    hung = bool(printed) and printed[-1] is None
    text = "".join(line for line in printed if line)
    end = ending(process, hung, silence)
    return [Result(job.name, "failed" if end else "passed", text + end, " ".join(job.command))]


def skip_reason(text):
    """GoogleTest prints `file:line: Skipped` and the message in the lines after it."""
    lines = text.splitlines()
    at = next((i for i, line in enumerate(lines) if line.endswith(": Skipped")), -1)
    return " ".join(line.strip() for line in lines[at + 1:] if line.strip()) or "no reason given"


def run_cases(job, silence, folder):
    """Runs the cases of one job, beginning again after each one that takes the process down."""
    results = []
    left = list(job.cases)
    while left:
        command = job.command + ["--gtest_color=no", "--gtest_filter=" + ":".join(left)]
        process, lines = run_process(command, job.cwd, silence, folder)
        current, text, hung, any_failed = None, "", False, False
        for line in lines:
            if line is None:
                hung = True
                break
            start, end = RUN_LINE.match(line), END_LINE.search(line.rstrip())
            if start and start[1] in left:
                current, text = start[1], ""
            elif end and end[2] == current:
                status = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}[end[1]]
                any_failed |= status == "failed"
                results.append(Result(current, status, skip_reason(text) if status == "skipped" else text,
                                      f"{job.command[0]} --gtest_filter={current}"))
                left.remove(current)
                current, text = None, ""
            else:
                text += line
        end = ending(process, hung, silence)
        if current:  # it took the process down
            results.append(Result(current, "failed", text + end, f"{job.command[0]} --gtest_filter={current}"))
            left.remove(current)
            continue
        if end and not any_failed:
            results.append(Result(f"{job.name} (after its cases)", "failed", text + end, " ".join(command)))
        results += [Result(case, "failed", "it did not run\n", " ".join(command)) for case in left]
        break
    return results


def run_job(job, silence):
    start = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="lamella_test_") as folder:
            results = (run_command if job.cases is None else run_cases)(job, silence, folder)
    except OSError as error:
        results = [Result(job.name, "failed", f"cannot run {job.command[0]}: {error}\n")]
    return results, time.monotonic() - start


def load_times(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def report_failure(result):
    print(f"FAILED {result.name}\n{result.text.rstrip()}")
    if result.rerun:
        print(f"rerun: {result.rerun}")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description="Runs the tests of a build folder.")
    parser.add_argument("build_dir")
    parser.add_argument("--filter", default="", help="only cases whose name contains this, or matches it when it has a *")
    parser.add_argument("--silence", type=float, default=180, help="kill a process that prints nothing for so many seconds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    os.environ.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")

    start = time.monotonic()
    jobs, results = make_jobs(options.build_dir, options.filter)
    times_path = os.path.join(options.build_dir, "test_times.json")
    times = load_times(times_path)
    jobs.sort(key=lambda job: -times.get(job.key(), 1e9 if job.cases is None else 1))  # the longest first
    for result in results:
        if result.status == "failed":
            report_failure(result)
    with concurrent.futures.ThreadPoolExecutor(max(1, options.jobs)) as pool:
        futures = {pool.submit(run_job, job, options.silence): job for job in jobs}
        for future in concurrent.futures.as_completed(futures):
            done, seconds = future.result()
            times[futures[future].key()] = round(seconds, 3)
            results += done
            for result in done:
                if result.status == "failed":
                    report_failure(result)
    with open(times_path, "w", encoding="utf-8") as file:
        json.dump(times, file)

    count = {status: sum(r.status == status for r in results) for status in ("passed", "failed", "skipped")}
    for result in sorted((r for r in results if r.status == "skipped"), key=lambda r: r.name):
        print(f"skipped {result.name}: {result.text}")
    failed = sorted(r.name for r in results if r.status == "failed")
    if failed:
        print("failed: " + " ".join(failed))
    if not results:
        print(f"no test case matches '{options.filter}'")
    print(f"tests took {time.monotonic() - start:.0f} s")
    print(f"{count['passed']} passed, {count['failed']} failed" + (f", {count['skipped']} skipped" if count["skipped"] else ""))
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
