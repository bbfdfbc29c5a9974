#!/usr/bin/env python3
"""Writes unicode_letters.inc: letter, number, white space or other for every code point, for the patterns of tokenizers.

    pip install unicodedata2==16.0.0 && python3 data/tokenizer/make_unicode_letters.py

General categories come from the Unicode Character Database 16.0.0, the version that tiktoken 0.14's regular
expressions use; White_Space is the property of that name (PropList.txt).
"""
import pathlib

import unicodedata2

VERSION = "16.0.0"
OTHER, LETTER, NUMBER, SPACE = range(4)
WHITE_SPACE = {*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F,
               0x3000}
BLOCK = 256


def char_class(code_point):
    if code_point in WHITE_SPACE:
        return SPACE
    return {"L": LETTER, "N": NUMBER}.get(unicodedata2.category(chr(code_point))[0], OTHER)


def rows(values, per_row):
    values = list(values)
    return "\n".join("    " + " ".join(values[i:i + per_row]) for i in range(0, len(values), per_row))


def main():
    assert unicodedata2.unidata_version == VERSION, unicodedata2.unidata_version
    blocks, index = [], []
    for first in range(0, 0x110000, BLOCK):
        classes = [char_class(c) for c in range(first, first + BLOCK)]
        words = tuple(sum(classes[w * 32 + i] << (2 * i) for i in range(32)) for w in range(BLOCK // 32))
        if words not in blocks:
            blocks.append(words)
        index.append(blocks.index(words))
    other = blocks.index((0,) * (BLOCK // 32))
    while index[-1] == other:
        index.pop()
    assert len(blocks) <= 256
    text = f"""// Made by make_unicode_letters.py from the Unicode Character Database {VERSION}. Do not edit.
const std::array<uint8_t, kUnicodeBlocks> kUnicodeBlockIndex = {{
{rows((f"{i}," for i in index), 24)}
}};

const std::array<uint64_t, kUnicodeDistinctBlocks * 8> kUnicodeBlockClasses = {{
{rows((f"0x{w:016x}," for b in blocks for w in b), 4)}
}};
"""
    (pathlib.Path(__file__).parent / "unicode_letters.inc").write_text(text)
    print(f"kUnicodeBlocks = {len(index)}, kUnicodeDistinctBlocks = {len(blocks)}")


if __name__ == "__main__":
    main()
