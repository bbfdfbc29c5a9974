#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes scores.json: what sacreBLEU itself computes for the texts below: TER, the zh tokenizer, intervals and p-values.

    pip install sacrebleu==2.6.0 regex==2026.11.15      # Python 3.11
    python3 make_scores.py > scores.json
"""
import itertools
import json
import logging
import os
import random
import zlib

import numpy
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest, _compute_p_value, estimate_ci

logging.disable(logging.WARNING)
random.seed(11)
os.environ["SACREBLEU_SEED"] = "5"

WORDS = ("the a cat dog's sat on mat, house. price 3.50 1,000 don't e-mail 24-7 &quot;quoted&quot; &amp;lt; (see) [1] "
         "Äpfel ΟΔΟΣ İs 東京 市。 你好, 「世界」 ソース 한국 a/b it's 'tis ½ ㈱ ﹁x﹂ … and of to in is").split()
SAMPLES = 20000


def sentence(low=3, high=12, words=WORDS):
    return " ".join(random.choice(words) for _ in range(random.randint(low, high)))


def disturb(text, strength, words=WORDS):
    out = text.split(" ")
    for _ in range(strength):
        action, at = random.random(), random.randrange(len(out))
        if action < 0.3:
            out[at] = random.choice(words)
        elif action < 0.5:
            out.insert(at, random.choice(words))
        elif action < 0.8:  # moves a phrase
            phrase = out[at:at + 3]
            del out[at:at + 3]
            to = random.randint(0, len(out))
            out[to:to] = phrase
        elif len(out) > 1:
            del out[at]
    return " ".join(out)


def corpora():
    truth = [sentence() for _ in range(25)]
    yield "disturbed", [disturb(t, 4) for t in truth], [truth]
    yield "three references", [disturb(t, 5) for t in truth], [[disturb(t, 2) for t in truth] for _ in range(3)]
    few = "a b c d".split()  # many shifts, to the limit of tries
    near = [sentence(30, 70, few) for _ in range(4)]
    yield "few words", [disturb(t, 20, few) for t in near], [near]
    many = [str(i) for i in range(400)]  # long shifts, and lengths far apart
    far = [sentence(100, 160, many) for _ in range(3)]
    yield "long", [disturb(t, 15, many) for t in far], [far]
    yield "unequal lengths", ["1 2 3", sentence(150, 150, few), "", "x"], [[sentence(140, 140, few), "a b", "", ""]]
    yield "turned", ["f g h a b c d e", "b a d c f e"], [["a b c d e f g h", "a b c d e f"]]
    yield "nothing", ["", ""], [["", "a b"]]


TER_CONFIGS = [dict(normalized=n, no_punct=p, asian_support=a, case_sensitive=c)
               for n, p, a, c in itertools.product((False, True), repeat=4)]


def ter(hyps, refs, config):
    metric = TER(**config)
    rows = metric._extract_corpus_statistics(hyps, refs)
    score = metric.corpus_score(hyps, refs)
    return dict(config=config, score=score.score, rows=rows, signature=str(metric.get_signature()))


def zh_sums():
    """The CRC-32 of the tokens of code points, as make_metrics.py computes it for other tokenizers."""
    tokenizer = BLEU(tokenize="zh").tokenizer
    context = "a{0}b 1{0}2 a{0}1 1{0}b {0} {0}{0} .{0}, {0}.{0}"
    for first in range(0, 0x110000, 4096):
        full = first < 0x32000 or first == 0xE0000
        chars = [chr(c) for c in range(first, first + 4096, 1 if full else 16) if not 0xD800 <= c < 0xE000]
        lines = (" ".join(tokenizer(context.format(c).rstrip()).split()) for c in chars)
        yield zlib.crc32("\n".join(lines).encode())


def paired():
    words = WORDS[:20]
    truth = [sentence(5, 15, words) for _ in range(80)]
    systems = [[disturb(t, strength, words) for t in truth] for strength in (2, 2, 3, 2)]
    metrics = {"BLEU": BLEU(force=True), "CHRF": CHRF(), "TER": TER()}
    _, scores = PairedTest([(str(i), s) for i, s in enumerate(systems)], metrics, [truth], "bs", SAMPLES)()
    return dict(samples=SAMPLES, references=[truth], systems=systems,
                results={name: [dict(score=r.score, p=r.p_value, mean=float(r.mean), ci=float(r.ci)) for r in results]
                         for name, results in scores.items() if name != "System"})


def statistics():
    """Statistics of random scores of samples."""
    for n in (1, 39, 40, 200, 1000):
        a, b = ([random.gauss(40, 2) for _ in range(n)] for _ in range(2))
        mean, ci = estimate_ci(numpy.array(a))
        for difference in (0.0, 0.3, -1.0, 2.5):
            differences = numpy.abs(numpy.array(b) - numpy.array(a))
            p = _compute_p_value(differences - differences.mean(), abs(difference))
            yield dict(a=a, b=b, mean=float(mean), ci=float(ci), difference=difference, p=p)


print(json.dumps(dict(
    sacrebleu=sacrebleu.__version__,
    corpora=[dict(name=name, hypotheses=hyps, references=refs, ter=[ter(hyps, refs, c) for c in TER_CONFIGS])
             for name, hyps, refs in corpora()],
    zh=list(zh_sums()), paired=paired(), statistics=list(statistics())),
    ensure_ascii=True, separators=(",", ":")).replace('{"name":', '\n{"name":'))
