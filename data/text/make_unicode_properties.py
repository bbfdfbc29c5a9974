#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes unicode_properties.inc: the properties of characters that the text metrics need.

Punctuation, number and symbol classes come from the `regex` module and everything else from Python's own str,
because these two decide what sacreBLEU computes. This version of regex has Unicode 17, Python 3.11 has Unicode 14; the
tables of the tokenizers' patterns (unicode_letters.inc) have Unicode 16.

    pip install regex==2026.11.15 && python3.11 data/text/make_unicode_properties.py
"""
import pathlib
import platform
import unicodedata

import regex

from unicode_tables import lower_table, table

LICENCE = "SPDX-License-Identifier: Unicode-3.0"  # of the generated file (NOTICE)
SURROGATES = range(0xD800, 0xE000)
PUNCTUATION, NUMBER, SYMBOL, SPACE, CASED, IGNORABLE = (1 << i for i in range(6))

classes = [
    (PUNCTUATION, regex.compile(r"\p{P}")),
    (NUMBER, regex.compile(r"\p{N}")),
    (SYMBOL, regex.compile(r"\p{S}")),
]


def properties(cp):
    if cp in SURROGATES:
        return 0
    c = chr(cp)
    value = sum(bit for bit, pattern in classes if pattern.match(c))
    if c.isspace():
        value |= SPACE
    # Python does not export Cased and Case_Ignorable. Its treatment of a capital sigma after the character shows them:
    # a sigma is final after a cased character, with ignorable ones between.
    if (c + "\u03a3").lower().endswith("\u03c2"):
        value |= CASED
    elif ("A" + c + "\u03a3").lower().endswith("\u03c2"):
        value |= IGNORABLE
    return value


def property_runs():
    previous = None
    for cp in range(0x110000):
        value = properties(cp)
        if value != previous:
            yield cp, value
        previous = value


def small_letters():
    for cp in range(0x110000):
        if cp in SURROGATES or cp == 0x130:  # U+0130 becomes two characters, which to_lower() handles
            continue
        lowered = chr(cp).lower() if cp != 0x3A3 else "\u03c3"
        assert len(lowered) == 1, hex(cp)
        yield cp, ord(lowered)


def main():
    text = f"""// {LICENCE}
// Made by make_unicode_properties.py: regex {regex.__version__}, Python {platform.python_version()}
// (str of Unicode {unicodedata.unidata_version}). Do not edit.
"""
    text += table("kPropertyRuns", "PropertyRun", ((hex(cp), str(value)) for cp, value in property_runs()))
    text += lower_table("kLowerRuns", "LowerRun", small_letters())
    (pathlib.Path(__file__).parent / "unicode_properties.inc").write_text(text)


if __name__ == "__main__":
    main()
