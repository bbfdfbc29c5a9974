#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes unicode_letters.inc: letter, number, white space or other for every code point, and the case of letters, for
the patterns of tokenizers.

    pip install unicodedata2==16.0.0 && python3 data/text/make_unicode_letters.py

General categories come from the Unicode Character Database 16.0.0, the version that tiktoken 0.14's regular
expressions use; White_Space is the property of that name (PropList.txt).
"""
import pathlib

import unicodedata2

VERSION = "16.0.0"
LICENCE = "SPDX-License-Identifier: Unicode-3.0"  # of the generated file (NOTICE)
OTHER, LETTER, NUMBER, SPACE = range(4)
NO_CASE, UPPER, LOWER, EITHER = range(4)
WHITE_SPACE = {*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F,
               0x3000}
BLOCK = 256


def char_class(code_point):
    if code_point in WHITE_SPACE:
        return SPACE
    return {"L": LETTER, "N": NUMBER}.get(unicodedata2.category(chr(code_point))[0], OTHER)


def letter_case(code_point):
    category = unicodedata2.category(chr(code_point))
    cases = {"Lu": UPPER, "Lt": UPPER, "Ll": LOWER, "Lm": EITHER, "Lo": EITHER}
    return EITHER if category[0] == "M" else cases.get(category, NO_CASE)


def rows(values, per_row):
    values = list(values)
    return "\n".join("    " + " ".join(values[i:i + per_row]) for i in range(0, len(values), per_row))


def table(name, value_of):
    """Two bits a code point in blocks of 256; equal blocks are stored once, and none after the last that is not 0."""
    blocks, index = [], []
    for first in range(0, 0x110000, BLOCK):
        values = [value_of(c) for c in range(first, first + BLOCK)]
        words = tuple(sum(values[w * 32 + i] << (2 * i) for i in range(32)) for w in range(BLOCK // 32))
        if words not in blocks:
            blocks.append(words)
        index.append(blocks.index(words))
    zero = blocks.index((0,) * (BLOCK // 32))
    while index[-1] == zero:
        index.pop()
    assert len(blocks) <= 256
    print(f"k{name}Blocks = {len(index)}, k{name}DistinctBlocks = {len(blocks)}")
    return f"""const std::array<uint8_t, k{name}Blocks> k{name}BlockIndex = {{
{rows((f"{i}," for i in index), 24)}
}};

const std::array<uint64_t, k{name}DistinctBlocks * 8> k{name}BlockClasses = {{
{rows((f"0x{w:016x}," for b in blocks for w in b), 4)}
}};
"""


def main():
    assert unicodedata2.unidata_version == VERSION, unicodedata2.unidata_version
    text = f"""// {LICENCE}
// Made by make_unicode_letters.py from the Unicode Character Database {VERSION}. Do not edit.
"""
    text += table("Unicode", char_class) + "\n" + table("Case", letter_case)
    (pathlib.Path(__file__).parent / "unicode_letters.inc").write_text(text)


if __name__ == "__main__":
    main()
