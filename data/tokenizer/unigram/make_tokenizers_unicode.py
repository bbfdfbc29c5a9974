#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tokenizers_unicode.inc: where Hugging Face's tokenizers and utf8proc disagree about characters.

The normal forms and marks (StripAccents) of tokenizers have Unicode 9, its graphemes and small letters Unicode 17; utf8proc has
what its version has. Marks and characters with a decomposition that came after Unicode 9 are listed, marks that are none any
more, of the new ones those that continue a grapheme once more, and all small letters.

    pip install tokenizers==0.23.3 regex==2026.11.19 && python3 data/tokenizer/unigram/make_tokenizers_unicode.py
"""
import base64
import json
import pathlib
import sys

import regex
import tokenizers
from tokenizers import normalizers

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "text"))
from unicode_tables import lower_table, table  # noqa: E402

LICENCE = "SPDX-License-Identifier: Unicode-3.0"  # of the generated file (NOTICE)
CHARACTERS = [chr(c) for c in range(1, 0x110000) if not 0xD800 <= c <= 0xDFFF]
MARK, DECOMPOSES, COMPOSES = (regex.compile(rf"\p{{{name}}}") for name in
                              ("M", "NFKD_Quick_Check=No", "NFC_Quick_Check=Maybe"))
BEFORE = ("\u1100", "\uac00")  # what the characters that are no marks compose with


def newer_marks():
    strip = normalizers.StripAccents()
    return [c for c in CHARACTERS if MARK.match(c) and strip.normalize_str(c)]


def newer_others():
    """Characters that are no marks, but that a normal form changes or joins to others."""
    nfkd, nfc = normalizers.NFKD(), normalizers.NFC()
    for c in CHARACTERS:
        if MARK.match(c):
            continue
        if DECOMPOSES.match(c) and nfkd.normalize_str(c) == c:
            yield c
        elif COMPOSES.match(c) and all(nfc.normalize_str(before + c) == before + c for before in BEFORE):
            yield c


def former_marks():
    strip = normalizers.StripAccents()
    return [c for c in CHARACTERS if not MARK.match(c) and not strip.normalize_str(c)]


def newer_continuing(marks):
    """Those that continue a grapheme. Only clusters below 6 bytes matter, and a blank of two bytes shows which these are."""
    t5 = json.loads((pathlib.Path(__file__).parents[3] / "tests/data/tokenizer/foreign/t5.json").read_text())
    table = t5["normalizer"]["normalizers"][0]["precompiled_charsmap"]
    precompiled = normalizers.Precompiled(base64.b64decode(table))
    return [c for c in marks if ord(c) > 0xFFFF or precompiled.normalize_str("\u00a0" + c) == " "]


def ranges(characters):
    found = []
    for c in map(ord, characters):
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def small_letters():
    lower = normalizers.Lowercase()
    for c in CHARACTERS:
        if c != "\u0130":  # becomes two characters, which to_lower_each() handles
            yield ord(c), ord(lower.normalize_str(c))


def main():
    text = f"""// {LICENCE}
// Made by make_tokenizers_unicode.py: tokenizers {tokenizers.__version__}, regex {regex.__version__}. Do not edit.
"""
    marks = newer_marks()
    for name, characters in (("kNewerMarks", marks), ("kFormerMarks", former_marks()), ("kNewerContinuing", newer_continuing(marks)),
                             ("kNewerOthers", newer_others())):
        text += table(name, "CharacterRange", ((hex(first), hex(last)) for first, last in ranges(characters)))
    text += lower_table("kSmallLetters", "SmallLetters", small_letters())
    (pathlib.Path(__file__).parent / "tokenizers_unicode.inc").write_text(text)


if __name__ == "__main__":
    main()
