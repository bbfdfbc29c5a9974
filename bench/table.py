#!/usr/bin/env python3
"""Writes the table of results in bench/README.md from bench/results/*.json, between its two markers.
usage: table.py [--check]     --check: change nothing, fail where the table is not what the results say"""

import glob
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BEGIN, END = "<!-- table.py begins -->", "<!-- table.py ends -->"
HEAD = ("| case | precision | weft, tokens/s | fastest peer, tokens/s | ratio | GFLOP/s | ceiling | share |\n"
        "|---|---|---|---|---|---|---|---|\n")


def number(value, digits=0):
    return "n/a" if value is None else f"{value:,.{digits}f}"


def row(case):
    peer = next((p for p in case["peers"] if p["name"] == case["fastest_peer"]), None)
    gflops = sorted(case["weft"]["gflops"])
    middle = gflops[len(gflops) // 2] if gflops else None
    share = case["ceiling_share"]
    cells = [case["case"], case["precision"], number(case["weft"]["median"]),
             f"{number(peer['median'])} ({peer['name']})" if peer else "n/a",
             number(case["ratio"], 2), number(middle), number(case["ceiling_gflops"]),
             "n/a" if share is None else f"{100 * share:.0f} %"]
    return "| " + " | ".join(cells) + " |\n"


def section(result):
    machine, versions = result["machine"], result["versions"]
    commit = versions["commit"][:12] + (" with changes" if versions["changed"] else "")
    library = next((c["weft"]["runs"][0]["library"] for c in result["cases"] if c["weft"]["runs"]), "")
    peers = f"PyTorch {versions['torch']}; " if "torch" in versions else ""
    text = (f"**{result['name']}**, {result['date'][:10]}: {machine['processor']}, {machine['processors']} processors, "
            f"{result['threads']} threads; commit {commit}; {library}; {peers}medians of "
            f"{result['repeats']} alternating runs; load before the start {result['load_before']}\n\n")
    return text + HEAD + "".join(row(case) for case in result["cases"]) + "\n"


def table(folder):
    paths = sorted(glob.glob(os.path.join(folder, "*.json")))
    results = []
    for path in paths:
        with open(path, encoding="utf-8") as text:
            results.append(json.load(text))
    results.sort(key=lambda r: r["date"], reverse=True)
    return "".join(section(r) for r in results) or "No results yet.\n"


def replaced(page, body):
    before, found, rest = page.partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not found or not closed:
        raise SystemExit(f"the page has no markers {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{body.rstrip()}\n{END}{after}"


def main(arguments):
    check = arguments == ["--check"]
    if arguments and not check:
        print(__doc__)
        return 0 if arguments == ["--help"] else 2
    path = os.path.join(HERE, "README.md")
    with open(path, encoding="utf-8") as text:
        page = text.read()
    wanted = replaced(page, table(os.path.join(HERE, "results")))
    if check:
        if page != wanted:
            print("bench/README.md is not what bench/results say: run bench/table.py")
        return int(page != wanted)
    with open(path, "w", encoding="utf-8") as text:
        text.write(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
