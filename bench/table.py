#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what README.md, bench/README.md and docs/layouts.md say of results, from bench/results/*.json, between markers.
usage: table.py [--check]     --check: change nothing, fail where the table is not what the results say"""

import glob
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BEGIN, END = "<!-- table.py begins{} -->", "<!-- table.py ends{} -->"
HEAD = ("| case | precision | weft, tokens/s | fastest peer, tokens/s | ratio | GFLOP/s | peak | share |\n"
        "|---|---|---|---|---|---|---|---|\n")


def number(value, digits=0):
    return "n/a" if value is None else f"{value:,.{digits}f}"


def median(series):
    """Of a series of measurements, as bench/cpu/result_file.py keeps it."""
    return series["median"] if series else None


def row(case):
    peer = next((p for p in case["peers"] if p["name"] == case["fastest_peer"]), None)
    share = case["ceiling_share"]
    cells = [case["case"], case["precision"], number(median(case["weft"]["tokens_per_second"])),
             f"{number(median(peer['tokens_per_second']))} ({peer['name']})" if peer else "n/a",
             number(case["ratio"], 2), number(median(case["weft"]["gflops"])), number(case["ceiling_gflops"]),
             "n/a" if share is None else f"{100 * share:.0f} %"]
    return "| " + " | ".join(cells) + " |\n"


def section(result):
    machine, versions = result["machine"], result["versions"]
    commit = versions["commit"][:12] + (" with changes" if versions["changed"] else "")
    library = result["cases"][0]["weft"]["library"]
    peers = f"PyTorch {versions['torch']}; " if "torch" in versions else ""
    text = (f"**{result['name']}**, {result['date'][:10]}: {machine['processor']}, {machine['processors']} processors, "
            f"{result['threads']} threads; commit {commit}; {library}; {peers}medians of "
            f"{result['repeats']} alternating runs; load before the start {result['load_before']}\n\n")
    return text + HEAD + "".join(row(case) for case in result["cases"]) + "\n"


PAIRS_HEAD = ("| case | precision | new, tokens/s | old, tokens/s | new / old | min | max | slower |\n"
              "|---|---|---|---|---|---|---|---|\n")


def pairs_row(case):
    ratios = [f"{case['ratios'][key]:.3f}" for key in ("median", "min", "max")]
    cells = [case["case"], case["precision"], number(median(case["new"])), number(median(case["old"])), *ratios,
             "yes" if case["slower"] else "no"]
    return "| " + " | ".join(cells) + " |\n"


def pairs_section(result):
    """What compare.py --against measured, or numerics.py, which says what its two sides are."""
    machine, versions = result["machine"], result["versions"]
    commit = versions["commit"][:12] + (" with changes" if versions["changed"] else "")
    if sides := result.get("sides"):
        compared = f"commit {commit}; {sides['new']} (new) against {sides['old']} (old)"
    else:
        old = next((line.split()[-1] for line in versions["old"] if line.startswith("git revision")), "unknown")
        compared = f"commit {commit} (new) against {old} (old)"
    text = (f"**{result['name']}**, {result['date'][:10]}: {machine['processor']}, {machine['processors']} processors, "
            f"{result['threads']} threads; {compared}; {result['repeats']} alternating pairs; "
            f"load before the start {result['load_before']}\n\n")
    return text + PAIRS_HEAD + "".join(pairs_row(case) for case in result["pairs"]) + "\n"


def decoding_section(result):
    """What cpu/decode.py measured: a line for each program, a column for each case."""
    machine, versions = result["machine"], result["versions"]
    commit = versions["commit"][:12] + (" with changes" if versions["changed"] else "")
    peers = ", ".join(f"{name} {versions[name]}" for name in ("transformers", "ctranslate2", "torch") if name in versions)
    cases = result["decoding"]
    bandwidth = max((c["read_bandwidth"] for c in cases if c["read_bandwidth"]), default=None)
    text = (f"**{result['name']}**, {result['date'][:10]}: {machine['processor']}, {machine['processors']} processors, "
            f"{result['threads']} threads; commit {commit}; {peers or 'no peers'}; {result['model']}, random weights, "
            f"{result['prompt']} + {result['new_tokens']} tokens; new tokens/s, medians of {result['repeats']} alternating "
            f"runs (share: weights read over {number(bandwidth and bandwidth * 1e-9, 1)} GB/s, the read bandwidth); load "
            f"before the start {result['load_before']}\n\n")
    text += "| program | " + " | ".join(c["case"] for c in cases) + " |\n|---" + "|---" * len(cases) + "|\n"
    for program in cases[0]["programs"]:
        cells = []
        for case in cases:
            figure = case["programs"][program]
            share = figure["bandwidth_share"]
            cells.append(number(median(figure["tokens_per_second"]), 1) + ("" if share is None else f" ({100 * share:.0f} %)"))
        text += f"| {program} | " + " | ".join(cells) + " |\n"
    return text + "\n"


def preparation_section(result):
    """What cpu/prepare.py measured."""
    machine, versions, small = result["machine"], result["versions"], result["preparation"]
    commit = versions["commit"][:12] + (" with changes" if versions["changed"] else "")
    megabytes = 1e-6 * small["text_bytes"]
    one, several = small["encode"]
    rows = [("GPT-2's encoding, one thread", f"{megabytes / one['seconds']['min']:.1f} MB/s")]
    if "tiktoken" in small:
        rows.append((f"the same beside tiktoken {small['tiktoken']['version']}", f"{small['times_tiktoken']:.2f} times; "
                     + ("the same tokens" if small["same_tokens"] else "other tokens")))
    rows += [(f"the same, {several['threads']} threads", f"{megabytes / several['seconds']['min']:.1f} MB/s"),
             ("all of `weft prepare`, JSONL to shards", f"{megabytes / small['prepare_seconds']['min']:.1f} MB/s, "
              f"{100 * small['prepare_share_of_encoding']:.0f} % of encoding alone")]
    for name in ("snappy", "zstd"):
        if stored := small.get(f"parquet_{name}"):
            rows.append((f"the same from Parquet ({name})", f"{megabytes / stored['prepare_seconds']['min']:.1f} MB/s, "
                         f"{100 * stored['share_of_encoding']:.0f} % of encoding alone; "
                         + ("the same shards" if stored["same_shards"] else "OTHER SHARDS")))
    rows += [(f"{small['learn']['merges']:,} merges learnt from {1e-6 * small['learn']['bytes']:.0f} MB",
              f"{small['learn']['seconds']:.1f} s")]
    if "large" in result:
        large = result["large"]
        rows += [(f"`weft prepare` of {1e-9 * large['file_bytes']:.1f} GB", f"{large['seconds']:.0f} s; "
                  f"{large['greatest_memory_mib']} MiB at most"),
                 (f"killed {large['killed_after_seconds']['count']} times and resumed",
                  "the same bytes" if large["same_bytes"] else "OTHER BYTES")]
    text = (f"**{result['name']}**, {result['date'][:10]}: {machine['processor']}, {machine['processors']} processors, "
            f"{result['threads']} threads; commit {commit}; {megabytes:.0f} MB of text in many scripts; "
            f"{rounds_of_preparation(small)}; load before the start {result['load_before']:.2f}\n\n| what | figure |\n|---|---|\n")
    return text + "".join(f"| {what} | {figure} |\n" for what, figure in rows) + "\n"


# Before tiktoken was timed in the first round alone, shares were those of the best times.
def rounds_of_preparation(small):
    rounds, times = small["rounds"], small.get("tiktoken", {}).get("seconds", {}).get("count")
    if times != 1 or rounds == 1:
        return f"the best of {rounds} rounds in turn"
    return f"speeds are the best of {rounds} rounds in turn, shares the medians of rounds, tiktoken ran once"


# The members of a result of timings decide which table it gets; a result without any of these is another record.
SECTIONS = {"cases": section, "pairs": pairs_section, "decoding": decoding_section,
            "preparation": preparation_section}


def results(folder):
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path, encoding="utf-8") as text:
            yield json.load(text)


def table(folder):
    timings = [(r, kind) for r in results(folder) for kind in SECTIONS if kind in r]
    timings.sort(key=lambda pair: pair[0]["date"], reverse=True)
    return "".join(SECTIONS[kind](r) for r, kind in timings) or "No results yet.\n"


def deviations(cells, *keys):
    """The largest of each over some cells of the parity matrix."""
    return " | ".join(f"{max((float(c[key]) for c in cells), default=0):.1e}" for key in keys)


def parity_table(folder):
    """What bench/parity.sh recorded, a line for each layout; the first is what all are compared with."""
    record = next((r for r in results(folder) if "cells" in r), None)
    if not record:
        return "No record yet.\n"
    layouts = {}
    for cell in record["cells"]:
        model, layout = cell["cell"].split("_")[:2]
        layouts.setdefault(layout, ([], []))[model.endswith("Bf16")].append(cell)
    passed = sum(c["passed"] for c in record["cells"])
    text = (f"`{record['command']}` at commit {record['commit']} on {record['machine']}: {passed} of "
            f"{len(record['cells'])} cells passed, {record['steps']} steps each.\n\n"
            "| dp x tp | fp32 cells | first step | losses | norms | bf16 cells | first step | losses | norms |\n"
            "|---|---|---|---|---|---|---|---|---|\n")
    for layout, (fp32, bf16) in layouts.items():
        text += (f"| {layout.replace('x', ' x ')} | {len(fp32)} | {deviations(fp32, 'first', 'loss', 'norm')} "
                 f"| {len(bf16)} | {deviations(bf16, 'first', 'loss', 'norm')} |\n")
    return text


PREDICTED = ("| model | device | devices | dp x tp | step, ms | products | attention | memory | gaps | tp waits | dp waits "
             "| tokens/s | MFU | GiB | measured, tokens/s | MFU | fastest peer |\n" + "|---" * 17 + "|\n")


def predicted_row(row, measured):
    """A line of predictions; measured: what bench/gpu.sh found on one such device, if it has."""
    parts = row["predicted"]
    milliseconds = [number(1e3 * parts[key], 1) for key in ("products_seconds", "attention_seconds", "memory_seconds", "gap_seconds",
                                                            "tp_seconds", "dp_exposed_seconds")]
    steps, peer = measured.get((row["device"], row["model"], row["devices"]), (None, None))
    cells = [row["model"], row["device"], str(row["devices"]), f"{row['dp']} x {row['tp']}", number(1e3 * row["seconds"], 1),
             *milliseconds, number(parts["tokens_per_second"]), f"{100 * parts['mfu']:.0f} %",
             number(row["peak_bytes"] / 2**30, 1), number(steps and steps["median_tokens_per_second"]),
             f"{100 * steps['mfu']:.0f} %" if steps and steps["mfu"] else "n/a", number(peer and peer["tokens_per_second"])]
    return "| " + " | ".join(cells) + " |\n"


def measured_on_devices(folder):
    """(device, model, devices) -> what bench/gpu.sh measured, and the peer's figures of the same run; of real devices."""
    found = {}
    for result in results(folder):
        if "gpu" not in result or result["simulated"]:
            continue
        names = " ".join(result["machine"]["devices"]).lower()
        device = next((known for known in ("h100", "h200", "a100") if known in names), names)
        for steps in result["gpu"]["steps"]:
            if "variant" not in steps:
                found[device, steps["job"], steps["dp"] * steps["tp"]] = steps, fastest_peer(result, steps["job"])
    return found


def fastest_peer(result, job):
    peers = [peer for peer in result["gpu"]["peers"] if peer["job"] == job]
    return max(peers, key=lambda peer: peer["tokens_per_second"], default=None)


def program_of(peer):
    return peer.get("program") or f"PyTorch {peer['torch'].split('+')[0]}" + (", compiled" if peer["compiled"] else "")


DEVICES = "| model | | step, ms | tokens/s | GFLOP/s | MFU | GiB |\n" + "|---" * 7 + "|\n"


def device_section(result):
    """What bench/gpu.sh measured on one machine: weft's steps, then those of its peers."""
    stages = result["stages"]
    failed = [stage["stage"] for stage in stages if stage["outcome"] not in ("passed", "left out")]
    text = (f"**{result['name']}**, {result['date'][:10]}: {result['machine']['devices'][0]}; commit {result['commit']}; "
            f"{result['doctor']['CUDA'].split(',')[0]}, {result['gpu']['steps'][0]['library']}, {result['doctor']['cuDNN']}. "
            f"{len(stages) - len(failed)} of {len(stages)} stages passed"
            + (f"; not: {', '.join(failed)}" if failed else "") + ".\n\n" + DEVICES)
    for steps in result["gpu"]["steps"]:
        cells = [steps["job"], steps.get("variant", ""), number(1e3 * steps["median_step_seconds"], 1),
                 number(steps["median_tokens_per_second"]), number(steps["gflops"]), f"{100 * steps['mfu']:.1f} %",
                 number(steps["peak_tensor_bytes"] / 2**30, 1)]
        text += "| " + " | ".join(cells) + " |\n"
    for peer in result["gpu"]["peers"]:
        seconds = peer.get("median_step_seconds") or peer["mean_step_seconds"]
        cells = [peer["job"], program_of(peer), number(1e3 * seconds, 1), number(peer["tokens_per_second"]), "", "", ""]
        text += "| " + " | ".join(cells) + " |\n"
    return text + "\n"


def devices_table(folder):
    return "".join(device_section(result) for result in results(folder) if "gpu" in result and not result["simulated"]) or (
        "No measurement on a device yet.\n")


def device_headline(folder):
    """GPT-2 124M on each device as measured last, beside the fastest peer that was measured on the same card."""
    found = [result for result in results(folder) if "gpu" in result and not result["simulated"]
             and fastest_peer(result, "gpt2-124m")]
    latest = {result["machine"]["devices"][0].split(",")[0]: result for result in sorted(found, key=lambda one: one["date"])}
    lines = []
    for result in (latest[device] for device in sorted(latest)):
        steps = next(one for one in result["gpu"]["steps"] if one["job"] == "gpt2-124m")
        rate, peer = steps["median_tokens_per_second"], fastest_peer(result, "gpt2-124m")
        lines.append(f"on one {result['machine']['devices'][0].split(',')[0]} at {number(rate)} tokens/s, "
                     f"**{rate / peer['tokens_per_second']:.2f} times** as fast as {program_of(peer)} ({number(peer['tokens_per_second'])})")
    if not lines:
        return ""
    return ("In bf16 it trains GPT-2 124M\n" + ",\n".join(lines)
            + ", the fastest peer on\nthe same card: [all peers and sizes](bench/README.md#measured-on-devices).\n")


def predictions_table(folder):
    """What bench/predict.sh keeps, beside what was measured since."""
    record = next((r for r in results(folder) if "predictions" in r), None)
    if not record:
        return "No predictions yet.\n"
    measured = measured_on_devices(folder)
    return (f"`{record['command']}` at commit {record['commit']}: {record['what']}; bf16, the fastest layout of each. Where "
            "nothing was measured it says n/a.\n\n" + PREDICTED +
            "".join(predicted_row(row, measured) for row in record["predictions"]))


def replaced(page, body, part=""):
    begin, end = BEGIN.format(part), END.format(part)
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"the page has no markers {begin} and {end}")
    return f"{before}{begin}\n{body.rstrip()}\n{end}{after}"


def headline(folder):
    """The latest comparison of GPT-2 124M with PyTorch, as a sentence."""
    found = [(result["date"], result, case) for result in results(folder) for case in result.get("cases", [])
             if case["case"] == "gpt2-124m" and (case["fastest_peer"] or "").startswith("PyTorch")]
    if not found:
        return "No record yet.\n"
    _, result, case = max(found, key=lambda f: f[0])
    peer = next(p for p in case["peers"] if p["name"] == case["fastest_peer"])
    machine, versions = result["machine"], result["versions"]
    return (f"On {machine['processors']} processors ({machine['processor']}) weft trains GPT-2 124M in {case['precision']} at "
            f"{number(median(case['weft']['tokens_per_second']))} tokens/s, **{case['ratio']:.2f} times** as fast as {case['fastest_peer']}\n"
            f"({versions['torch'].split('+')[0]}, {number(median(peer['tokens_per_second']))} tokens/s; side by side, {result['date'][:10]}, commit "
            f"{versions['commit'][:7]}): [more measurements](bench/README.md#results).\n" + device_headline(folder))


def main(arguments):
    check = arguments == ["--check"]
    if arguments and not check:
        print(__doc__)
        return 0 if arguments == ["--help"] else 2
    folder = os.path.join(HERE, "results")
    here, layouts = os.path.join(HERE, "README.md"), os.path.join(HERE, "..", "docs", "layouts.md")
    tables = [(here, "", table(folder)), (here, ": predictions", predictions_table(folder)),
              (here, ": devices", devices_table(folder)),
              (layouts, "", parity_table(folder)), (os.path.join(HERE, "..", "README.md"), ": headline", headline(folder))]
    return max(update(path, part, body, check) for path, part, body in tables)


def update(path, part, body, check):
    """1 where a page is to be checked and is not what the results say."""
    with open(path, encoding="utf-8") as text:
        page = text.read()
    wanted = replaced(page, body, part)
    if check:
        if page != wanted:
            print(f"{os.path.relpath(path, os.path.join(HERE, '..'))} is not what bench/results say: run bench/table.py")
        return int(page != wanted)
    with open(path, "w", encoding="utf-8") as text:
        text.write(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
