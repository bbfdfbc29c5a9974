#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes character_error_rate.json: the edits and rates that jiwer itself computes for the texts below.

    pip install jiwer==4.0.0      # Python 3.11
    python3 make_character_error_rate.py > character_error_rate.json
"""
import json
import random
from importlib.metadata import version

import jiwer

random.seed(13)

LETTERS = "aaabcdeeeiinorst  ,.ABÉÅßΣσςİ東京한국😀" + "e\u0301" + "\u00e9" + "\u00a0\u3000\u2009\t"


def text(low, high):
    return "".join(random.choice(LETTERS) for _ in range(random.randint(low, high)))


def disturb(line, strength):
    out = list(line)
    for _ in range(strength):
        action, at = random.random(), random.randint(0, len(out))
        if action < 0.4:
            out.insert(at, random.choice(LETTERS))
        elif action < 0.7:
            del out[at:at + 1]
        else:
            out[at:at + 1] = random.choice(LETTERS)
    return "".join(out)


def corpora():
    truth = [text(5, 60) for _ in range(30)]
    yield "disturbed", [disturb(t, 6) for t in truth], [truth]
    yield "unrelated", [text(0, 80) for _ in truth], [truth]
    yield "equal", truth, [truth]
    yield "three references", [disturb(t, 5) for t in truth], [[disturb(t, n) for t in truth] for n in (2, 4, 8)]
    long = [text(600, 900) for _ in range(2)]
    yield "long", [disturb(t, 200) for t in long], [long]
    yield "empty hypotheses", ["", "  ", "abc"], [["abc", "d", "abc"]]
    yield "empty references", ["abc", "", "x y"], [["", "\t", "x y"]]
    yield "empty references alone", ["abc", "d"], [["", " "]]
    yield "nothing", ["", " "], [["", ""]]
    yield "one of two references is empty", ["ab", "", "xyz"], [["", "abc", "x"], ["abcd", "", ""]]
    yield "composed and combining", ["caf\u00e9", "cafe\u0301", "\u212b"], [["cafe\u0301", "cafe\u0301", "\u00c5"]]
    yield "more than all", ["aaaaaaaaaa"], [["b"]]


def prepared(line, lowercase, whitespace):
    line = line.strip()
    line = line.lower() if lowercase else line
    return line if whitespace else "".join(line.split())


def of_line(hypothesis, references):
    """Edits and length of the reference with the lowest rate, the first of equal ones. An empty reference has a rate of 0 or 1."""
    rows = []
    for reference in references:
        found = jiwer.process_characters([reference], [hypothesis])
        edits = found.substitutions + found.deletions + found.insertions
        length = found.substitutions + found.deletions + found.hits
        rows.append((edits / length if length else float(edits > 0), edits, length))
    return min(rows, key=lambda row: row[0])[1:]


def cer(hypotheses, references, config):
    hypotheses = [prepared(line, **config) for line in hypotheses]
    references = [[prepared(line, **config) for line in stream] for stream in references]
    rows = [of_line(h, rs) for h, rs in zip(hypotheses, zip(*references))]
    edits, length = map(sum, zip(*rows))
    score = edits / length if length else float(edits > 0)
    if len(references) == 1 and length:
        assert abs(score - jiwer.cer(references[0], hypotheses)) < 1e-12
    return dict(config=config, score=100 * score, rows=rows)


CONFIGS = [dict(lowercase=lc, whitespace=ws) for lc in (False, True) for ws in (True, False)]
print(json.dumps(dict(
    jiwer=version("jiwer"),
    corpora=[dict(name=name, hypotheses=h, references=rs, cer=[cer(h, rs, c) for c in CONFIGS])
             for name, h, rs in corpora()]),
    ensure_ascii=True, separators=(",", ":")).replace('{"name":', '\n{"name":'))
