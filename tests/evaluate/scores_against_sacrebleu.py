#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `weft score` with sacreBLEU on random and odd texts: every metric, tokenizer and option, then intervals and
paired tests.

    pip install sacrebleu==2.6.0 regex==2026.11.15      # Python 3.11
    python3 scores_against_sacrebleu.py WEFT [--corpora N] [--seed S]

Prints the counts as one JSON object; exit status 1 if a figure differs.
"""
import argparse
import itertools
import json
import logging
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

logging.disable(logging.WARNING)
WORDS = ("the a cat dog's sat on mat, house. 3.50 1,000 don't e-mail 24-7 5- &quot;quoted&quot; &amp;lt; <skipped> (see) "
         "[1] Äpfel ΟΔΟΣ ΣΑΣ. İs 東京 市。 你好, 「世界」 ソース 한국 a/b 'tis ½ … – \U0002000B “x” \x85 \xa0 \u3000 \u2028 \x1c "
         "🙂 ② ﬁ \ufeffb \u200b").split(" ")
SAMPLES = 20000  # enough for p-values of two generators to agree to 0.01


def bleu_options():
    for tokenizer, lowercase in itertools.product(("13a", "intl", "zh", "char", "none"), (False, True)):
        yield dict(tokenizer=tokenizer, lowercase=lowercase), dict(tokenize=tokenizer, lowercase=lowercase)
    for method, effective in itertools.product(("exp", "floor", "add-k", "none"), (False, True)):
        yield (dict(smoothing=method, effective_order=effective),
               dict(smooth_method=method, effective_order=effective))


def chrf_options():
    for words, case, space, eps in itertools.product((0, 2), (False, True), (False, True), (False, True)):
        options = dict(word_order=words, lowercase=case, whitespace=space, eps_smoothing=eps)
        yield options, options


def ter_options():
    for n, p, a, c in itertools.product((False, True), repeat=4):
        options = dict(normalized=n, no_punct=p, asian_support=a, case_sensitive=c)
        yield options, options


METRICS = (("bleu", lambda **o: BLEU(force=True, **o), bleu_options), ("chrf", CHRF, chrf_options),
           ("ter", TER, ter_options))


def sentence():
    return " ".join(random.choice(WORDS) for _ in range(random.choice((0, 1, 3, 8, 12, 20))))


def disturb(text):
    words = text.split(" ")
    for _ in range(random.randint(0, 5)):
        at = random.randrange(len(words))
        phrase, words[at:at + 2] = words[at:at + 2], []
        to = random.randint(0, len(words))
        words[to:to] = phrase if random.random() < 0.5 else [random.choice(WORDS)]
    return " ".join(words) + random.choice(("", "", " ", "\t", "\x85", "\u3000 "))


def weft_score(weft, files, *arguments):
    hypotheses, references = files
    command = [weft, "score", "--json", *arguments]
    command += itertools.chain(*(("--hypotheses", f) for f in hypotheses), *(("--reference", f) for f in references))
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def write(folder, name, streams):
    paths = [str(folder / f"{name}{i}") for i in range(len(streams))]
    for path, lines in zip(paths, streams):
        pathlib.Path(path).write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")
    return paths


# weft leaves out of files: white space at the ends of lines, and a byte order mark at the beginning, which sacreBLEU
# counts as a letter.
def stripped(streams):
    return [[line.rstrip().removeprefix("" if i else "\ufeff") for i, line in enumerate(lines)] for lines in streams]


parser = argparse.ArgumentParser()
parser.add_argument("weft")
parser.add_argument("--corpora", type=int, default=12)
parser.add_argument("--seed", type=int, default=1)
arguments = parser.parse_args()
random.seed(arguments.seed)
os.environ["SACREBLEU_SEED"] = "7"
count = dict(scores=0, scores_differ=0, figures=0, figures_differ=0)


def compare(kind, ours, theirs, bound, what):
    count[kind] += 1
    if abs(ours - theirs) > bound:
        count[kind + "_differ"] += 1
        print(f"weft {ours}, sacreBLEU {theirs}: {what}", file=sys.stderr)


with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch)
    for corpus in range(arguments.corpora):
        truth = [sentence() for _ in range(random.choice((1, 3, 30)))]
        streams = [[disturb(t) for t in truth] for _ in range(1 + corpus % 3)]
        hypotheses = [disturb(t) for t in truth]
        files = write(folder, "hypotheses", [hypotheses]), write(folder, "reference", streams)
        [hyps], refs = stripped([hypotheses]), stripped(streams)
        for name, make, every in METRICS:
            for ours, theirs in every():
                flags = itertools.chain(*((f"--{name}", f"{k}={str(v).lower()}") for k, v in ours.items()))
                metric = make(**theirs)
                expected = metric.corpus_score(hyps, refs)
                found = weft_score(arguments.weft, files, "--metrics", name, *flags)
                compare("scores", found["score"], expected.score, 1e-6, f"{name} {theirs} {hyps} {refs}")
                signature = str(metric.get_signature()).split("|version")[0]
                compare("scores", found["signature"].split("|version")[0] == signature, True, 0, signature)
    truth = [" ".join(random.choice(WORDS[:20]) for _ in range(12)) for _ in range(60)]
    systems = stripped([[disturb(t) for t in truth] for _ in range(3)])
    files = write(folder, "hypotheses", systems), write(folder, "reference", [truth])
    found = weft_score(arguments.weft, files, "--metrics", "bleu", "chrf", "ter", "--paired-bs", "--samples", str(SAMPLES))
    metrics = {"BLEU": BLEU(force=True), "CHRF": CHRF(), "TER": TER()}
    _, expected = PairedTest([(str(i), s) for i, s in enumerate(systems)], metrics, stripped([truth]), "bs", SAMPLES)()
    for name in ("BLEU", "chrF2", "TER"):
        for s, theirs in enumerate(expected[name]):
            ours = found[s][name]
            compare("figures", ours["mean"], theirs.mean, 0.1, f"mean of {name}, system {s}")
            compare("figures", ours["ci"], theirs.ci, 0.1, f"interval of {name}, system {s}")
            if s > 0:
                compare("figures", ours["p_value"], theirs.p_value, 0.01, f"p of {name}, system {s}")

print(json.dumps(dict(seed=arguments.seed, corpora=arguments.corpora, **count)))
sys.exit(count["scores_differ"] + count["figures_differ"] > 0)
