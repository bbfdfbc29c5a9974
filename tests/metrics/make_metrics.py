#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes metrics.json: what sacreBLEU itself computes for the texts below.

    pip install sacrebleu==2.6.0 regex==2026.11.15      # Python 3.11
    python3 make_metrics.py > metrics.json
"""
import itertools
import json
import logging
import random
import zlib

import sacrebleu
from sacrebleu.metrics import BLEU, CHRF

logging.disable(logging.WARNING)
random.seed(7)

WORDS = ("the a cat dog sat on mat, house. price 3.50 1,000 don't e-mail 24-7 5- -5 (see) [1] \"quoted\" &amp; &lt;b&gt; "
         "a/b 50% $5 x_y Äpfel über Straße Ürün «bonjour» l’été … – — 東京 市。 ½ ² Ⅳ ٣.٤ €20 ±2 ©2020 😀 ΟΔΟΣ İstanbul "
         "and of to in is was he she it").split()
EDGES = [chr(c) for c in (*range(0x09, 0x0E), *range(0x1C, 0x7F), 0x85, 0xA0, 0xAB, 0xB2, 0xBD, 0x3A3, 0x130, 0x1E9E,
                          0x2009, 0x2014, 0x2026, 0x2028, 0x20AC, 0x3000, 0x3002, 0x0660, 0x2167, 0x1F600, 0x4E00,
                          0x301, 0x200B, 0xFEFF)]


def sentence():
    return " ".join(random.choice(WORDS) for _ in range(random.randint(4, 14)))


def disturb(text, strength):
    words = text.split(" ")
    for _ in range(strength):
        action, at = random.random(), random.randrange(len(words))
        if action < 0.4:
            words[at] = random.choice(WORDS)
        elif action < 0.7:
            words.insert(at, random.choice(WORDS))
        elif len(words) > 1:
            del words[at]
    return " ".join(words)


def noise(n):
    return "".join(random.choice(EDGES) for _ in range(n))


def corpora():
    truth = [sentence() for _ in range(40)]
    yield "disturbed", [disturb(t, 3) for t in truth], [truth]
    yield "two references", [disturb(t, 3) for t in truth], [truth, [disturb(t, 4) for t in truth]]
    yield "three references", [disturb(t, 6) for t in truth], [[disturb(t, 2) for t in truth] for _ in range(3)]
    yield "short hypotheses", [" ".join(t.split(" ")[: len(t.split(" ")) // 2]) for t in truth], [truth]
    yield "equal", truth, [truth]
    yield "case", [t.upper() for t in truth], [truth]
    yield "unrelated", [sentence() for _ in range(3)], [[sentence() for _ in range(3)]]
    yield "nothing in common", ["alpha beta"], [["gamma delta"]]
    yield "no 4-gram", ["the cat sat on a mat"], [["a cat sat over the mat"]]
    yield "no 3-gram", ["the cat sits"], [["the cat sat"]]
    yield "one word", ["cat"], [["cat"]]
    yield "two words", ["the cat"], [["the cat"]]
    yield "empty hypothesis", [""], [["the cat"]]
    yield "empty reference", ["the cat"], [[""]]
    yield "both empty", [""], [[""]]
    yield "some empty", ["", "the cat sat on the mat", "x"], [["a b c d", "", "x"]]
    yield "edges", [noise(40) for _ in range(20)], [[noise(40) for _ in range(20)]]
    near = [noise(60) for _ in range(20)]
    yield "near edges", [t[:30] + noise(2) + t[30:] for t in near], [near]
    yield "repeated", ["the the the the the the the"], [["the cat is on the mat"], ["there is a cat on the mat"]]
    yield "length tie", ["a b c d e"], [["a b c d"], ["a b c d e f"]]


BLEU_CONFIGS = [dict(tokenize=t, lowercase=lc) for t in ("13a", "intl", "char", "none") for lc in (False, True)]
BLEU_CONFIGS += [dict(smooth_method=s, smooth_value=v, effective_order=e)
                 for s, v in (("exp", None), ("floor", None), ("floor", 0.01), ("add-k", None), ("add-k", 0.5),
                              ("none", None)) for e in (False, True)]
BLEU_CONFIGS += [dict(max_ngram_order=n) for n in (1, 2, 6)]
CHRF_CONFIGS = [dict(word_order=w, lowercase=lc, whitespace=s, eps_smoothing=e)
                for w in (0, 1, 2) for lc, s, e in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))]
CHRF_CONFIGS += [dict(beta=1, word_order=2), dict(beta=3, char_order=4)]


def bleu(hyps, refs, config):
    metric = BLEU(force=True, **config)
    s = metric.corpus_score(hyps, refs)
    return dict(config=config, score=s.score, precisions=s.precisions, bp=s.bp, hyp_len=s.sys_len, ref_len=s.ref_len,
                signature=str(metric.get_signature()), line=s.format(signature=str(metric.get_signature())))


def chrf(hyps, refs, config):
    metric = CHRF(**{k: bool(v) if k in ("lowercase", "whitespace", "eps_smoothing") else v
                     for k, v in config.items()})
    s = metric.corpus_score(hyps, refs)
    return dict(config=config, score=s.score, line=s.format(signature=str(metric.get_signature())))


def code_point_sums():
    """The CRC-32 of the tokens and the lowered text of code points, for each 4096 of them: of all of them, or of every 16th in
    the planes that hold no character of a class (unassigned and private ones)."""
    tokenizers = {name: BLEU(tokenize=name).tokenizer for name in ("13a", "intl", "char")}
    context = "a{0}b 1{0}2 a{0}1 1{0}b {0} {0}{0} .{0}, {0}.{0}"
    for first in range(0, 0x110000, 4096):
        full = first < 0x32000 or first == 0xE0000
        chars = [chr(c) for c in range(first, first + 4096, 1 if full else 16) if not 0xD800 <= c < 0xE000]
        sums = {}
        for name, tokenizer in tokenizers.items():
            raw = getattr(tokenizer.__call__, "__wrapped__", None)
            lines = (" ".join((raw(tokenizer, t) if raw else tokenizer(t)).split())
                     for t in (context.format(c).rstrip() for c in chars))
            sums[name] = zlib.crc32("\n".join(lines).encode())
        lowered = ("{0} A{0} \u0391{0}\u03a3 A\u03a3{0}B".format(c).lower() for c in chars)
        sums["lower"] = zlib.crc32("\n".join(lowered).encode())
        yield sums


def damaged():
    """Byte strings that are not UTF-8, and the texts that replace them."""
    pieces = [b"a", b"\x80", b"\xc3", b"\xc3\xa9", b"\xe2\x82", b"\xe2\x82\xac", b"\xf0\x9f\x98", b"\xf0\x9f\x98\x80",
              b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe0\x80\x80", b"\xf0\x80", b" "]
    fixed = [bytes(p) for p in pieces] + [a + b for a, b in itertools.product(pieces, pieces)]
    for data in fixed + [b"".join(random.choices(pieces, k=8)) for _ in range(50)]:
        yield dict(hex=data.hex(), text=data.decode("utf-8", "replace"))


result = dict(sacrebleu=sacrebleu.__version__, corpora=[], tokens=[], code_points=list(code_point_sums()),
              damaged=list(damaged()))
for name, hyps, refs in corpora():
    result["corpora"].append(dict(name=name, hypotheses=hyps, references=refs,
                                  bleu=[bleu(hyps, refs, c) for c in BLEU_CONFIGS],
                                  chrf=[chrf(hyps, refs, c) for c in CHRF_CONFIGS]))
for line in [noise(random.randint(1, 12)) for _ in range(150)] + [sentence() for _ in range(20)] + [
        "a <skipped> b", "hyphen-\nated\nline", "&amp;lt; &quot;x&quot; &gt;", "1.2.3", "a..b", "...", "1,,2", ".,.",
        "x.1", "1.x", "end.", "end 2.", " lead and trail \t\n", "3-4-5", "-", "--1--2"]:
    result["tokens"].append(dict(line=line, tokens={
        t: BLEU(tokenize=t).tokenizer(line.rstrip()).split() for t in ("13a", "intl", "char", "none")}))
print(json.dumps(result, ensure_ascii=True, separators=(",", ":")).replace('{"name":', '\n{"name":'))
