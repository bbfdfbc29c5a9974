#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures decoding of GPT-2 124M's shapes beside transformers and CTranslate2 (bench/peers/decoding.py), all with random
weights, alternating, in one run. For each case and program: new tokens a second; of weft also the share of the read
bandwidth that its weights alone take. Results go where compare.py's go."""

import argparse
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases  # noqa: E402
import compare  # noqa: E402
import figures  # noqa: E402
import result_file  # noqa: E402

PEER = os.path.join(cases.PEERS, "decoding.py")
# name: texts at once, hypotheses of each
CASES = {"greedy, batch 1": (1, 1), "greedy, batch 8": (8, 1), "beam 5, batch 1": (1, 5)}
# name: arguments of weft bench-decode
OURS = {"weft fp32": [], "weft bf16": ["--set", "train.precision=bf16"], "weft int8": ["--weights", "int8"]}
# name: program and type
PEERS = {"CTranslate2 fp32": ("ctranslate2", "float32"), "CTranslate2 int8": ("ctranslate2", "int8"),
         "transformers fp32": ("transformers", "float32"), "transformers bf16": ("transformers", "bfloat16")}


def parse(arguments):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    result_file.add_options(p, "processor, date, decoding")
    p.add_argument("--weft", default=os.path.join(compare.ROOT, "build", "cpu", "weft"), help="the program (%(default)s)")
    p.add_argument("--python", default=os.environ.get("WEFT_BENCH_PYTHON", "python3"),
                   help="a Python that has torch, transformers and ctranslate2 ($WEFT_BENCH_PYTHON; python3)")
    p.add_argument("--model", default="gpt2-124m", help="weft's, as in weft bench-decode (%(default)s)")
    p.add_argument("--no-peers", action="store_true", help="weft alone")
    p.add_argument("--prompt", type=int, default=32, help="tokens of a prompt (%(default)s)")
    p.add_argument("--new", type=int, default=128, help="tokens of a text (%(default)s)")
    p.add_argument("--repeats", type=int, default=3, help="turns, in which each program runs (%(default)s)")
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="(%(default)s)")
    p.add_argument("--timeout", type=int, default=1800, help="seconds that one run may take (%(default)s)")
    options = p.parse_args(arguments)
    if options.repeats < 1 or options.threads < 1:
        p.error("--repeats and --threads are at least 1")
    return options


def run_weft(name, batch, beam, options, scratch):
    path = os.path.join(scratch, "weft.json")
    compare.run([os.path.abspath(options.weft), "bench-decode", "--model", options.model, "--batch", str(batch), "--beam",
                 str(beam), "--prompt-tokens", str(options.prompt), "--new-tokens", str(options.new), "--repeats", "1",
                 "--json", path, *OURS[name]], options, options.threads)
    with open(path, encoding="utf-8") as result:
        return json.load(result)


def run_peer(name, batch, beam, options, scratch):
    words = [scratch, *PEERS[name], "--batch", batch, "--beam", beam, "--prompt", options.prompt, "--new", options.new,
             "--threads", options.threads]
    text = compare.run([options.python, PEER, "run", *map(str, words)], options, options.threads)
    return json.loads(text.strip().splitlines()[-1])


def peer_versions(python):
    words = "import json, torch, transformers, ctranslate2 as c; print(json.dumps({'torch': torch.__version__, " \
            "'transformers': transformers.__version__, 'ctranslate2': c.__version__}))"
    text = compare.output([python, "-c", words])
    if not text:
        raise SystemExit(f"{python} cannot import torch, transformers and ctranslate2: give --python, or --no-peers")
    return json.loads(text)


def measure(name, options, scratch):
    """Every program once a turn, so that a machine that gets slower slows all of them."""
    batch, beam = CASES[name]
    programs = {**{p: run_weft for p in OURS}, **({} if options.no_peers else {p: run_peer for p in PEERS})}
    runs = {program: [] for program in programs}
    for turn in range(options.repeats):
        for program, run in programs.items():
            runs[program].append(run(program, batch, beam, options, scratch))
            rate = batch * options.new / runs[program][-1]["run_seconds"][0]
            compare.say(f"{name}, turn {turn + 1} of {options.repeats}: {program} {rate:.1f} tokens/s")
    return {"case": name, "batch": batch, "beam": beam, "programs": runs}


def main(arguments=None):
    options = parse(arguments)
    versions = compare.own_versions(options.weft)
    if not options.no_peers:
        versions.update(peer_versions(options.python))
    result, file = compare.begin_result(options, versions, "-decoding")
    result.update(model=options.model, prompt=options.prompt, new_tokens=options.new, decoding=[])
    with tempfile.TemporaryDirectory() as scratch:
        if not options.no_peers:
            compare.run([options.python, PEER, "make", scratch], options, options.threads)
        for name in CASES:
            result["decoding"].append(figures.summarise_decoding(measure(name, options, scratch), options.new))
            file.keep(result)  # keeps the figures so far, whatever happens later
    for case in result["decoding"]:
        for program, figure in case["programs"].items():
            share = figure["bandwidth_share"]
            text = f", {100 * share:.0f} % of {1e-9 * case['read_bandwidth']:.1f} GB/s" if share else ""
            print(f"{case['case']}: {program} {figures.median(figure['tokens_per_second']):.1f} tokens/s{text}")
    print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
