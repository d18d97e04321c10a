#!/usr/bin/env python3
"""Runs Flambeau and every peer that is installed, one after the other on this machine, and writes one table.

Usage: bench/run.py [--device cpu|gpu] [--full] [--ops [--results FLAMBEAU PYTORCH]] [--program FLAMBEAU] [--python PYTHON] [--out FILE]

The table goes into bench/RESULTS.md, under the heading of the device; what stands under other headings stays. A peer
that cannot be run is listed with the reason. Only the standard library is used here; PyTorch is looked for in the
Python that is named (or this one), Burn is built with cargo, the web's peers need node and `npm ci` in bench/web.
On a CPU the two large models take minutes and are left out without --full. With --ops the table is another one: single ops
beside PyTorch's, those that are slowest beside it first; --results makes it of two files that the programs have printed
before, on this machine or on another.
"""

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
RESULTS = BENCH / "RESULTS.md"
SIZES = [256, 512, 1000, 1023, 1024, 2048, 4096]
OPS = ["add", "sigmoid(relu(2x + y))", "gelu", "sum", "softmax", "layer norm"]
FFT = ["fft 2^20", "rfft 2^20", "fftn", "fft 1000", "fft 100003", "stft"]
STEPS = ["mlp b32", "mlp b128", "cnn b32", "cnn b128", "resnet18-cifar b128", "gpt-10m b16"]
# Seconds after which a program is given up.
LIMIT = 3600


class Missing(Exception):
    """Why a peer could not be run."""


def run(command, folder=ROOT, environment=None):
    """The last line that a program prints, which must be a JSON object."""
    print("+", " ".join(map(str, command)), file=sys.stderr, flush=True)
    try:
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE, timeout=LIMIT, text=True
        )
    except FileNotFoundError as error:
        raise Missing(f"{command[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise Missing(f"it took more than {LIMIT} s") from error
    if done.returncode != 0:
        raise Missing(f"it failed with exit code {done.returncode}")
    return last_object(done.stdout)


def last_object(printed):
    """The JSON object in the last line of what a program has printed."""
    try:
        return json.loads(printed.strip().splitlines()[-1])
    except (IndexError, json.JSONDecodeError) as error:
        raise Missing("it printed no result") from error


def built_program():
    """Flambeau's program, built."""
    subprocess.run(["cargo", "build", "--release", "-p", "flambeau-cli"], cwd=ROOT, check=True)
    metadata = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps"], cwd=ROOT, check=True, stdout=subprocess.PIPE
    )
    name = "flambeau.exe" if os.name == "nt" else "flambeau"
    return Path(json.loads(metadata.stdout)["target_directory"]) / "release" / name


def flambeau(program, options):
    def bench(*what):
        return run([program, "--device", options.device, "--json", "bench", *what])

    sizes = SIZES if options.device == "gpu" else SIZES[:-1]
    matmul = bench("matmul", "--sizes", ",".join(map(str, sizes)))
    figures = {f"matmul {row['size']}": row["tflops"] for row in matmul["results"]}
    for row in bench("ops", *OPS)["results"]:
        if row["op"] in OPS and "refused" not in row:
            figures[row["op"]] = row["bytes_per_second"] / 1e9
    for row in bench("fft")["results"]:
        figures[row["transform"]] = row["bytes_per_second"] / 1e9
    models = [] if options.full or options.device == "gpu" else ["mlp", "cnn"]
    for row in bench("train", *models)["results"]:
        figures[f"{row['model']} b{row['batch']}"] = row["microseconds_per_step"]
    return {"version": matmul["version"], "device": matmul["device"], "columns": {"": figures}}


def pytorch(options, *what):
    kind = "cuda" if options.device == "gpu" else "cpu"
    probe = f"import torch, sys; sys.exit(0 if '{kind}' == 'cpu' or torch.cuda.is_available() else 3)"
    try:
        found = subprocess.run([options.python, "-c", probe], stderr=subprocess.DEVNULL, check=False).returncode
    except FileNotFoundError as error:
        raise Missing(f"{options.python} is not installed") from error
    if found == 3:
        raise Missing("this PyTorch has no CUDA device")
    if found != 0:
        raise Missing(f"{options.python} has no torch")
    full = ["full"] if options.full else []
    return run([options.python, BENCH / "peers" / "pytorch.py", kind, *full, *what])


def burn(options):
    if options.device != "gpu":
        raise Missing("its program here runs on Vulkan only")
    return run(["cargo", "run", "--release", "--quiet"], folder=BENCH / "peers" / "burn")


def web(script):
    def peer(options):
        if options.device != "gpu":
            raise Missing("its program here runs on WebGPU only")
        path = BENCH / "web" / script
        if not path.exists():
            raise Missing(f"bench/web/{script} is not there")
        return run(["node", path], folder=path.parent)

    return peer


PEERS = [("PyTorch", pytorch), ("Burn", burn), ("TensorFlow.js", web("tf.mjs")), ("jax-js", web("jx.mjs"))]


def number(value):
    if value is None:
        return "–"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def table(columns):
    """Rows of figures, those that somebody has."""
    heads = list(columns)
    lines = ["| work | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    rows = [(f"{name} step, µs", name) for name in STEPS]
    rows += [(f"matmul {size}, TFLOP/s", f"matmul {size}") for size in SIZES]
    rows += [(f"{name}, GB/s", name) for name in OPS + FFT]
    for label, key in rows:
        values = [columns[head].get(key) for head in heads]
        if any(value is not None for value in values):
            lines.append(f"| {label} | " + " | ".join(map(number, values)) + " |")
    return "\n".join(lines)


def section(options, program):
    columns, notes = {}, []
    ours = flambeau(program, options)
    for name, peer in [("Flambeau", lambda _: ours), *PEERS]:
        try:
            result = peer(options)
        except Missing as missing:
            notes.append(f"- {name}: missing ({missing}).")
            continue
        notes.append(f"- {name} {result['version']}, {result['device']}.")
        for way, figures in result["columns"].items():
            columns[f"{name} {way}".strip()] = figures
    today = datetime.date.today().isoformat()
    heading = f"## {ours['device']}"
    intro = f"{today}, {platform.system()} {platform.machine()}, one run of `bench/run.py --device {options.device}`; f32."
    return heading, "\n\n".join([heading, intro, table(columns), "\n".join(notes)]) + "\n"


def ops_section(options, program):
    """Single ops beside PyTorch's, those that are slowest beside it first; what PyTorch did not do is at the end."""
    if options.results:
        ours, peer = (last_object(path.read_text()) for path in options.results)
    else:
        ours = run([program, "--device", options.device, "--json", "bench", "ops", "--all"])
        peer = pytorch(options, "ops")
    theirs = peer["columns"]["eager"]
    rows = [row for row in ours["results"] if row["op"] != "ceilings"]
    # What is wrong has no time, and comes first.
    wrong = [row for row in rows if "refused" in row]
    rows = [row for row in rows if row not in wrong]
    ratio = lambda row: row["microseconds"] / theirs[row["op"]] if row["op"] in theirs else 0
    lines = [
        "| op | first input | Flambeau, µs | PyTorch, µs | times PyTorch's | of the limit |",
        "|---|---|---|---|---|---|",
    ]
    lines += [f"| {row['op']} | | {row['refused']} | | | |" for row in wrong]
    for row in sorted(rows, key=ratio, reverse=True):
        shape = " × ".join(map(str, row["shape"]))
        beside = f"{ratio(row):.2f}" if ratio(row) else "–"
        figures = [number(row["microseconds"]), number(theirs.get(row["op"])), beside, f"{100 * row['share_of_ceiling']:.0f} %"]
        lines.append(f"| {row['op']} | {shape} | " + " | ".join(figures) + " |")
    heading = f"## Single ops: {ours['device']}"
    today = datetime.date.today().isoformat()
    intro = f"{today}, `bench/run.py --ops --device {options.device}`; f32; PyTorch {peer['version']}, {peer['device']}."
    return heading, "\n\n".join([heading, intro, "\n".join(lines)]) + "\n"


def merged(text, heading, new):
    """The results with this section in the place of the one of the same heading, or at the end."""
    parts = re.split(r"(?m)^(?=## )", text)
    kept = [part for part in parts if part.strip() and part.splitlines()[0] != heading]
    return "\n\n".join(part.strip() for part in [*kept, new]) + "\n"


TITLE = """# Results

Written by `bench/run.py`. Training steps are pipelined with one wait at the end; medians of five runs. A dash means that
the program does not do that work; what is missing is listed under each table."""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="gpu", choices=["cpu", "gpu"])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--ops", action="store_true")
    parser.add_argument("--results", nargs=2, type=Path, metavar=("FLAMBEAU", "PYTORCH"))
    parser.add_argument("--program", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.results and not options.ops:
        parser.error("--results is for --ops")
    needs_building = not options.program and not options.results
    program = built_program() if needs_building else options.program and options.program.resolve()
    heading, new = (ops_section if options.ops else section)(options, program)
    before = options.out.read_text() if options.out.exists() else TITLE
    options.out.write_text(merged(before, heading, new))
    print(new)


main()
