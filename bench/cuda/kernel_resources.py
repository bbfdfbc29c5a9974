#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ptxas says of weft's CUDA kernels (registers, static shared memory, spills), and the occupancy that follows.

usage: kernel_resources.py BUILD [--jobs N] [--only WORD] [--counts FILE] [--json FILE] [--table]
  BUILD     a build folder with CUDA: its compile_commands.json says how each kernel is compiled
  --only    sources whose names contain WORD
  --counts  what kernels_cuda_traffic_test wrote to WEFT_CUDA_DEVICE_COUNTS: the threads and the shared memory of the blocks
            that it launched; without it occupancy is not known
  --json    writes every kernel
  --table   rewrites the table of bench/README.md

No kernel runs here: ptxas is asked for sm_80 and sm_90 with the flags of the build. Exit status 1 if a kernel spills."""

import argparse
import collections
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cpu"))
import result_file  # noqa: E402

BEGIN, END = "<!-- kernel_resources.py begins -->", "<!-- kernel_resources.py ends -->"
DEVICES = ("sm_80", "sm_90")
# The limits of a multiprocessor (CUDA programming guide, technical specifications by compute capability).
REGISTERS, WARPS, BLOCKS = 65536, 64, 32
SHARED = {"sm_80": 164 << 10, "sm_90": 228 << 10}
GRANULE = 256  # a warp's registers are a multiple of this
RESERVED = 1 << 10  # bytes of each block's shared memory that the system takes
BY_INSTANCE = "attention"  # sources with a line per instance, since blocks differ by the width of a head


def sources(build, only):
    for entry in json.load(open(build / "compile_commands.json")):
        path = pathlib.Path(entry["file"])
        if path.suffix == ".cu" and "kernels/cuda" in str(path) and only in path.name:
            yield str(path).rpartition("kernels/cuda/")[2], entry["directory"], shlex.split(entry["command"])


def asked(command):
    """The build's command, for ptxas's words alone."""
    words, skip = [], False
    for word in command:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT"):
            skip = True
        elif word.startswith("--generate-code") or word == "-MD" or word.endswith("ccache"):
            continue
        else:
            words.append(word)
    return words + [f"-gencode=arch=compute_80,code=[{','.join(DEVICES)}]", "-Xptxas=-v", "-o", os.devnull]


def short(name):
    """weft::cuda::(anonymous namespace)::attend<float, 64>(...) as attend<float, 64>"""
    name = name.replace("(anonymous namespace)::", "").replace("weft::cuda::", "").replace("weft::", "")
    name = re.sub(r"^(static )?void ", "", name)
    depth = 0
    for i, c in enumerate(name):
        depth += (c == "<") - (c == ">")
        if c == "(" and depth == 0:
            return name[:i]
    return name


def resident_warps(device, registers, threads, shared):
    """Warps of as many blocks as a multiprocessor holds: by registers, shared memory, warps and blocks."""
    warps = -(-threads // 32)
    a_warp = -(-registers * 32 // GRANULE) * GRANULE
    return warps * min(BLOCKS, WARPS // warps, REGISTERS // a_warp // warps, SHARED[device] // (shared + RESERVED))


def blocks_of(counts):
    """From the names of kernels that were launched to their largest block: threads and bytes of shared memory."""
    return {short(k["kernel"]): (k["threads"], k["shared_bytes"]) for k in json.load(open(counts))} if counts else {}


def kernels_of(source, directory, command):
    done = subprocess.run(asked(command), cwd=directory, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{source}: {done.stderr[-2000:]}")
    found, kernel = [], None
    for line in (done.stdout + done.stderr).splitlines():
        if entry := re.search(r"Compiling entry function '(\S+)' for '(sm_\d+)'", line):
            kernel = {"source": source, "kernel": entry[1], "device": entry[2]}
        elif kernel and (spill := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line)):
            kernel["stack"], kernel["spill_stores"], kernel["spill_loads"] = map(int, spill.groups())
        elif kernel and (used := re.search(r"Used (\d+) registers", line)):
            shared = re.search(r"(\d+) bytes smem", line)
            kernel["registers"], kernel["static_shared"] = int(used[1]), int(shared[1]) if shared else 0
            found.append(kernel)
            kernel = None
    names = subprocess.run(["c++filt"], input="\n".join(k["kernel"] for k in found), capture_output=True, text=True,
                           check=True).stdout.splitlines()
    for k, name in zip(found, names):
        k["kernel"] = short(name)
    return found


def span(values):
    if not values:
        return ""
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low}-{high}"


def add_occupancy(kernels, blocks):
    for k in kernels:
        if block := blocks.get(k["kernel"]):
            k["threads"], k["shared"] = block
            k["resident_warps"] = resident_warps(k["device"], k["registers"], *block)


def table(kernels):
    families = collections.defaultdict(list)
    for k in kernels:
        name = k["kernel"] if BY_INSTANCE in k["source"] else k["kernel"].split("<")[0]
        families[k["source"], name.replace("__nv_bfloat16", "bf16")].append(k)
    text = ("| source | kernel | instances | registers sm_80 | sm_90 | spilled, bytes | threads of a block | its shared memory, bytes "
            "| resident warps of 64, sm_80 | sm_90 |\n|---|---|---|---|---|---|---|---|---|---|\n")
    for (source, kernel), all_of in sorted(families.items()):
        by_device = [[k for k in all_of if k["device"] == d] for d in DEVICES]
        cells = [f"`{source}`", f"`{kernel}`", str(len(by_device[0]))]
        cells += [span([k["registers"] for k in some]) for some in by_device]
        cells.append(span([k["spill_stores"] for k in all_of]))
        cells += [span([k[what] for k in all_of if what in k]) for what in ("threads", "shared")]
        cells += [span([k["resident_warps"] for k in some if "resident_warps" in k]) for some in by_device]
        text += "| " + " | ".join(cells) + " |\n"
    return text


def rewrite(page, text):
    page_text = page.read_text()
    before, rest = page_text.split(BEGIN)
    page.write_text(before + BEGIN + "\n" + text + END + rest.split(END)[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="")
    parser.add_argument("--counts", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        kernels = [k for some in pool.map(lambda s: kernels_of(*s), sources(args.build, args.only)) for k in some]
    if not kernels:
        sys.exit(f"{args.build}: no CUDA kernels are compiled there")
    add_occupancy(kernels, blocks_of(args.counts))
    spilling = [k for k in kernels if k["spill_stores"] > 0]
    for k in spilling:
        print(f"{k['source']}: {k['kernel']} on {k['device']} spills {k['spill_stores']} bytes")
    if args.json:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=HERE, capture_output=True, text=True).stdout.strip()
        nvcc = subprocess.run(["nvcc", "--version"], capture_output=True, text=True).stdout.split("release ")[-1].split(",")[0]
        result_file.write(str(args.json), {"date": datetime.date.today().isoformat(), "commit": commit, "nvcc": nvcc,
                                           "kernels": kernels})
    if args.table:
        rewrite(HERE.parent / "README.md", table(kernels))
    print(f"{len(kernels)} compiled kernels, {len(spilling)} of them spill")
    sys.exit(bool(spilling))


if __name__ == "__main__":
    main()
