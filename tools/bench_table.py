"""A line of the table of docs/performance.md for each model file, ours and a peer's in turn.

usage: bench_table.py LAMELLA --peer COMMAND [--threads 2] [--prefill 256] [--decode 64] [--rounds 5] [--repeat 1]
                      [--write NAME] FILE...
--peer: see `lamella bench --help`. --write NAME puts the table into docs/performance.md, between the lines
<!-- NAME:begin --> and <!-- NAME:end -->; else it is printed. Ratios are medians of the rounds, the worst one in brackets.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "performance.md"


def measure(options, path):
    command = [options.lamella, "bench", path, "--json", "--peer", options.peer]
    for name in ("threads", "prefill", "decode", "rounds", "repeat"):
        command += [f"--{name}", str(getattr(options, name))]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def phase(result, name):
    peer = result["peer"][name]
    return (f"{result[name + '_tokens_per_s']:,.0f} / {statistics.median(peer['tokens_per_s']):,.0f}",
            f"{peer['median_ratio']:.2f}x ({min(peer['ratios']):.2f})")


def line(name, result):
    prefill, decode = result["prefill"], result["decode"]
    unit = "bf16" if name == "bf16" else "int8"
    return [name, *phase(result, "prefill"), f"{100 * prefill[f'share_of_{unit}_peak']:.0f} %",
            *phase(result, "decode"), f"{100 * decode['share_of_read_bandwidth']:.0f} %",
            f"{result['peak_rss_bytes'] / 1e6:,.0f} / {result['weight_bytes'] / 1e6:,.0f}"]


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def table(options):
    head = ["format", f"prefill {options.prefill}, tokens/s: ours / peer", "ratio", "of int8 (bf16: of bf16)",
            f"decode {options.decode}: ours / peer", "ratio", "of reading", "peak RSS / weights, MB"]
    rows, results = [], []
    for path in options.files:
        results.append(measure(options, path))
        rows.append(line(pathlib.Path(path).stem.removeprefix("syn_"), results[-1]))
        print("| " + " | ".join(rows[-1]) + " |", file=sys.stderr, flush=True)
    ratios = [[r["peer"][p]["median_ratio"] for r in results] for p in ("prefill", "decode")]
    shares = [r["prefill"]["share_of_bf16_peak" if row[0] == "bf16" else "share_of_int8_peak"]
              for row, r in zip(rows, results)]
    rows.append(["geometric mean (worst)", "", f"{mean(ratios[0]):.2f}x ({min(ratios[0]):.2f})",
                 f"{100 * mean(shares):.0f} % ({100 * min(shares):.0f})", "",
                 f"{mean(ratios[1]):.2f}x ({min(ratios[1]):.2f})", "", ""])
    machine = results[-1]["machine"]
    limits = (f"{machine['threads']} threads, {machine['isa']}; limits in the last run: reads "
              f"{machine['read_bytes_per_s'] / 1e9:.1f} GB/s, int8 {machine['int8_ops_per_s'] / 1e12:.2f} TOPS, bf16 "
              f"{machine['bf16_flops_per_s'] / 1e12:.2f} TFLOP/s.")
    lines = [head, ["---"] * len(head), *rows]
    return limits + "\n\n" + "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def write(name, text):
    page = PAGE.read_text()
    begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
    if begin not in page or end not in page:
        sys.exit(f"bench_table: {PAGE.name} has no lines {begin.strip()} and {end}")
    PAGE.write_text(page[:page.index(begin) + len(begin)] + text + page[page.index(end):])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lamella")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--peer", required=True)
    parser.add_argument("--write")
    for name, value in {"threads": 2, "prefill": 256, "decode": 64, "rounds": 5, "repeat": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    text = table(options)
    if options.write:
        write(options.write, text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
