#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares weft's models with what CTranslate2 computes from their exports; exit status 1 if a figure is beyond its bound.

    against_ctranslate2.py BUILD [CASE ...] [--trained CHECKPOINT ...] [--json FILE]

BUILD is the build folder with `weft` and `tests/exchange/model_says`. Needs ctranslate2, tokenizers and numpy.

Each case is a small model that weft trains for some steps on the sample corpus, from weights large enough to tell an angle, a
norm or a head from another. Compared are greedy texts (none may differ), the log-probability of each of their tokens, and of
language models the logits after each token of a text. Both compute in fp32 and differ by the order in which they add: by at
most 2e-6 of the largest logit or log-probability, 34 roundings. Angles at position t are off by t 2^-24 in CTranslate2, which
computes them in fp32; these texts are too short to tell.
--trained: the same for checkpoints of the user's: language models continue, and translation models translate, lines of the
sample corpus.
"""

import argparse
import gzip
import itertools
import json
import pathlib
import shutil

import ctranslate2
import numpy
import tokenizers
from comparison import SOURCES, Bench

BOUND = 2e-6
NEW_TOKENS = 40

TRAINING = """
train: {max_steps: 40, clip_norm: 1}
schedule: {kind: constant, learning_rate: 1e-3}
checkpoint: {every_steps: 40}
evaluation: {every_steps: 0, every_epochs: 0}
"""
LANGUAGE = """name: language
run_dir: run
data: {directory: prepared, format: text, document_delimiter: file, train: {files: [text.txt]}, DATA}
tokenizer: {kind: bpe, merges: 300, specials: [<s>, </s>, <pad>], bos: <s>, eos: </s>, pad: <pad>}
batch: {sequences: 8}
""" + TRAINING
TRANSLATION = """name: translation
task: translation
run_dir: run
data: {directory: prepared, format: tsv, train: {files: [pairs.tsv]}, max_source_tokens: 64, max_target_tokens: 64, DATA}
batch: {tokens: 1000}
""" + TRAINING
ONE = "tokenizer: {kind: bpe, merges: 300, specials: [<s>, </s>, <unk>], bos: <s>, eos: </s>}\n"
TWO = ("tokenizer: {kind: words, specials: [<unk>, <s>, </s>], bos: <s>, eos: </s>, unk: <unk>}\n"
       "target_tokenizer: {kind: bpe, merges: 200, specials: [<s>, </s>], bos: <s>, eos: </s>}\n")

GPT = dict(layers=3, width=64, heads=4, max_length=80, init_std=0.1)
LLAMA = dict(GPT, heads=8, kv_heads=2, ffn=96, norm_kind="rms", norm_bias="false", bias="false", positions="rotary",
             activation="silu", gated="true", tying="none")
TRANSLATOR = dict(layers=2, encoder_layers=2, width=64, heads=4, ffn=128, max_length=80, init="xavier")
MARIAN = dict(TRANSLATOR, norm_placement="post", final_norm="false", positions="sinusoidal", sinusoid_form="halves",
              activation="relu", tying="all", scale_embedding="true")
CASES = {
    "gpt-2": dict(model=GPT),
    "gelu, untied, no biases, output bias": dict(
        model=dict(GPT, activation="gelu", bias="false", norm_bias="false", output_bias="true", tying="none")),
    "post-norm, final norm, sinusoids": dict(
        model=dict(GPT, norm_placement="post", final_norm="true", positions="sinusoidal", sinusoid_form="per_column",
                   sinusoid_base=500, scale_embedding="true", activation="relu")),
    "no final norm, plain scores": dict(model=dict(GPT, final_norm="false", attention_score="plain", init_std=0.06)),
    "no positions, bos": dict(model=dict(GPT, positions="none"), data="source_bos: true"),
    "llama": dict(model=LLAMA),
    "llama, tied, wide heads, qkv biases": dict(
        model=dict(LLAMA, tying="output", head_dim=16, qkv_bias="true", norm_epsilon=1e-3)),
    "one head of keys": dict(model=dict(LLAMA, kv_heads=1)),
    "llama 3, norms of heads": dict(model=dict(LLAMA, qk_norm="head", head_dim=16, rotary=(
        "{base: 500000, scaling: llama3, factor: 8, original_length: 16}"))),
    "interleaved, linear": dict(model=dict(LLAMA, rotary="{form: interleaved, scaling: linear, factor: 2}")),
    "bf16": dict(model=GPT, halved=True),
    "marian": dict(model=MARIAN, tokenizer=ONE, data="source_eos: true"),
    "pre-norm, interleaved sinusoids": dict(
        model=dict(TRANSLATOR, positions="sinusoidal", tying="output", activation="gelu_tanh"), tokenizer=ONE),
    "own vocabularies, learned positions": dict(
        model=dict(TRANSLATOR, positions="learned", tying="none", output_bias="true", norm_bias="false"), tokenizer=TWO,
        data="source_bos: true, source_eos: true"),
    "translating llama": dict(
        model=dict(TRANSLATOR, heads=8, kv_heads=2, norm_kind="rms", norm_bias="false", bias="false", positions="rotary",
                   activation="silu", gated="true", tying="all"), tokenizer=ONE, data="source_eos: true"),
    "one head of keys, plain scores": dict(
        model=dict(MARIAN, kv_heads=1, attention_score="plain"), tokenizer=ONE, data="source_eos: true"),
}


def sample_lines(name, count):
    with gzip.open(SOURCES / "configs/sample" / name, "rt", encoding="utf-8") as lines:
        return list(itertools.islice((line.rstrip("\n") for line in lines if line.strip()), count))


def train(bench, case):
    """Trains the model of a case; returns its run directory."""
    translates = "encoder_layers" in case["model"]
    (bench.scratch / "text.txt").write_text("\n".join(sample_lines("text.txt.gz", 1500)) + "\n")
    (bench.scratch / "pairs.tsv").write_text("\n".join(sample_lines("train.tsv.gz", 1500)) + "\n")
    job = (TRANSLATION if translates else LANGUAGE).replace(", DATA}", f", {case['data']}}}" if "data" in case else "}")
    model = "\n".join(f"  {key}: {value}" for key, value in case["model"].items())
    (bench.scratch / "job.yaml").write_text(f"{job}{case.get('tokenizer', '')}model:\n{model}\n")
    bench.weft("prepare", "job.yaml")
    bench.weft("train", "job.yaml")
    return "run"


class Served:
    """An export, with the tokens of both sides."""

    def __init__(self, directory, translates):
        self.config = json.loads((directory / "config.json").read_text())
        sides = ("source", "target") if translates else ("", "")
        self.source, self.target = (self.side(directory, name) for name in sides)
        library = ctranslate2.Translator if translates else ctranslate2.Generator
        self.model = library(str(directory), device="cpu", compute_type="float32", inter_threads=1, intra_threads=1)

    @staticmethod
    def side(directory, name):
        for prefix in ("shared_", f"{name}_", ""):
            if (directory / f"{prefix}vocabulary.json").exists():
                vocabulary = json.loads((directory / f"{prefix}vocabulary.json").read_text())
        for prefix in (f"{name}_", ""):
            if (directory / f"{prefix}tokenizer.json").exists():
                return vocabulary, tokenizers.Tokenizer.from_file(str(directory / f"{prefix}tokenizer.json"))
        return vocabulary, None

    def tokens(self, text):
        """Of a source or a prompt; a tokenizer without a file is of words here."""
        tokenizer = self.source[1]
        return tokenizer.encode(text).tokens if tokenizer else text.split()

    def ids(self, tokens):
        return [self.target[0].index(token) for token in tokens]


def compare(bench, name, ours, theirs, scores, largest):
    """Greedy texts as weft and CTranslate2 give them, and what CTranslate2 makes of weft's tokens."""
    different = [(o, t) for o, t in zip(ours, theirs) if o["tokens"] != t]
    print(*different[:2], sep="\n", end="\n" if different else "")
    bench.hold(name, f"greedy texts of {len(ours)} that differ", len(different), 0)
    found = numpy.concatenate([numpy.array(o["token_log_probabilities"]) - s[:len(o["token_log_probabilities"])]
                               for o, s in zip(ours, scores)])
    bench.hold(name, f"log-probabilities of {len(found)} tokens differ", float(numpy.abs(found).max()), largest)


def language(bench, name, checkpoint, served):
    lines = sample_lines("text.txt.gz", 400)[380:]
    prompts = [" ".join(line.split()[:3]) for line in lines]
    words = [word for prompt in prompts for word in ("--prompt", prompt)]
    ours = [json.loads(line) for line in
            bench.weft("generate", "--checkpoint", checkpoint, "--json", "--search", "method=greedy", "--search",
                       f"max_length_extra={NEW_TOKENS}", *words).splitlines()]
    starts = [served.tokens(prompt) for prompt in prompts]
    found = served.model.generate_batch(starts, beam_size=1, max_length=NEW_TOKENS, include_prompt_in_result=False,
                                        suppress_sequences=served.config["suppress_sequences"])
    theirs = [result.sequences_ids[0] for result in found]
    # Of a text that has ended, the end token is scored too; a Translator adds it to every text.
    whole = [start + [served.target[0][i] for i in o["tokens"]] +
             [served.config["eos_token"]] * (len(o["token_log_probabilities"]) - len(o["tokens"]))
             for start, o in zip(starts, ours)]
    scores = [result.log_probs[len(start) - 1:] for start, result in zip(starts, served.model.score_batch(whole))]
    ids = served.ids(whole[0])
    raw = bench.says(checkpoint, "logits", " ".join(map(str, ids)))
    logits = numpy.frombuffer(raw, dtype=numpy.float32).reshape(len(ids), -1)
    view = served.model.forward_batch([ids])
    largest = float(numpy.abs(logits).max())
    bench.hold(name, f"logits differ (they reach {largest:.3g})", float(numpy.abs(numpy.array(view)[0] - logits).max()),
               BOUND * largest)
    compare(bench, name, ours, theirs, scores, BOUND * largest)


def translation(bench, name, checkpoint, served):
    pairs = [line.split("\t") for line in sample_lines("valid.tsv.gz", 25)]
    (bench.scratch / "sources.txt").write_text("".join(source + "\n" for source, _ in pairs))
    ours = [json.loads(line) for line in
            bench.weft("translate", "sources.txt", "--checkpoint", checkpoint, "--json", "--search", "method=greedy",
                       "--search", "max_length_factor=0", "--search", f"max_length_extra={NEW_TOKENS}").splitlines()]
    sources = [served.tokens(source) for source, _ in pairs]
    found = served.model.translate_batch(sources, beam_size=1, max_decoding_length=NEW_TOKENS, min_decoding_length=0,
                                         suppress_sequences=served.config["suppress_sequences"])
    theirs = [served.ids(result.hypotheses[0]) for result in found]
    targets = [[served.target[0][i] for i in o["tokens"]] for o in ours]
    scores = [result.log_probs for result in served.model.score_batch(sources, targets)]
    largest = max(-min(o["token_log_probabilities"]) for o in ours)
    compare(bench, name, ours, theirs, scores, BOUND * max(1, largest))


def run_case(bench, name, case, checkpoint=None):
    bench.clear()
    checkpoint = checkpoint or train(bench, case)
    if case.get("halved"):  # an imported model keeps its type
        bench.weft("export-hf", checkpoint, "halved", "--dtype", "bf16")
        bench.weft("import-hf", "halved", "imported")
        checkpoint = "imported"
    if checkpoint == "run":
        checkpoint = max((bench.scratch / "run/checkpoints").iterdir())
    bench.weft("export-ct2", checkpoint, "served")
    translates = not (bench.scratch / "served/vocabulary.json").exists()
    served = Served(bench.scratch / "served", translates)
    (translation if translates else language)(bench, name, checkpoint, served)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--trained", metavar="CHECKPOINT", nargs="*", default=[])
    parser.add_argument("--json")
    parser.add_argument("cases", nargs="*")
    args = parser.parse_args()
    bench = Bench(args.build)
    bench.folder = bench.scratch
    try:
        for name, case in CASES.items():
            if not args.cases or name in args.cases:
                run_case(bench, name, case)
        for checkpoint in args.trained:
            path = pathlib.Path(checkpoint).resolve()
            run_case(bench, path.name, {}, path)
    finally:
        shutil.rmtree(bench.scratch, ignore_errors=True)
    bench.finish(args.json, (ctranslate2, tokenizers))


if __name__ == "__main__":
    main()
