#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tokenizer_golden.json: the ids that tiktoken gives for texts, odd strings and every code point.

    pip install tiktoken==0.14.0 && python3 tests/data/tokenizer/make_tokenizer_golden.py "$WEFT_TEST_DATA"

The hash of a list of ids is h = h * 1099511628211 + id + 1 modulo 2^64, from h = 14695981039346656037.
"""
import gzip
import json
import pathlib
import random
import sys

import tiktoken
from tiktoken.load import data_gym_to_mergeable_bpe_ranks, load_tiktoken_bpe
from tiktoken_ext import openai_public

TEXTS = ["text/quixote.txt", "text/quixote_oneline.txt", "text/quixote_pairs.txt", "text/tinyshakespeare.txt",
         "multi30k/train.de.gz", "multi30k/train.en.gz"]
STRINGS = [
    "what is transformer language model", "Do no harm.", "", " ", "  ", "\n", "\n\n", " \n", "\n ", "a \n", "a\n b  c",
    "a  \n\n  b", "a\t\tb", "\r\n\r\n x", "x\r\n", "trailing   ", "trailing \n ", "it's I'LL we'Ve 'tis 's'd''", "'\u017ft '\u017f '\u212a",
    "don't DON'T x'y 'll'l", "1234567890 12 345", "\u0661\u0662\u0663\u0664 \u00bd\u2167", "a1b2c3", " !?!? ...\n\n--\r\nx", "!\n\n \n!",
    "na\u00efve caf\u00e9 na\u0308ive", "\u65e5\u672c\u8a9e\u306e\u6587\u7ae0\u3067\u3059\u3002\u4e2d\u6587", "\u0395\u03bb\u03bb\u03b7\u03bd\u03b9\u03ba\u03ac \u0440\u0443\u0441\u0441\u043a\u0438\u0439", "\U0001f600\U0001f469\u200d\U0001f4bb x\U0001f600", "\u00a0a\u2003b\u3000c\u2028d\u0085e",
    "\x00\x01\x1c\x1d\x1f \x7f", "<|endoftext|>", "x" * 300, " " * 300 + "x", "ab" * 200, "\u0301a \u0301 \u0301", "#!/usr/bin/env\n\tdef f(x):\n\t\treturn x_1",
    "\u2019s \u2018x\u2019 \u201cquoted\u201d", "\n\n\n\t \t x", "a\u00a0", "a\u00a0\u00a0b", "\U0001e900\U00010d40 \U000323af \U0002ebf0",
]


def ids_hash(ids, h=14695981039346656037):
    for i in ids:
        h = (h * 1099511628211 + i + 1) & 0xFFFFFFFFFFFFFFFF
    return h


def encodings(data):
    gpt2 = data_gym_to_mergeable_bpe_ranks(vocab_bpe_file=str(data / "gpt2/merges.txt"),
                                           encoder_json_file=str(data / "gpt2/vocab.json"))
    cl100k = load_tiktoken_bpe(str(data / "tiktoken/cl100k_base.tiktoken"))
    gpt4 = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
            r"|\s+(?!\S)|\s")
    return {"gpt2": tiktoken.Encoding("gpt2", pat_str=openai_public.r50k_pat_str, mergeable_ranks=gpt2, special_tokens={}),
            "cl100k": tiktoken.Encoding("cl100k", pat_str=gpt4, mergeable_ranks=cl100k, special_tokens={})}


def random_strings(count=300):
    """Strings of characters that the patterns distinguish."""
    pick = random.Random(20)
    alphabet = " \n\r\t'sStTlLvVeErRdDmMaZ09!-\u00a0\u3000\u00e9\u017f\u0663\u4e2d\u0301\U0001f600\u2028"
    return ["".join(pick.choice(alphabet) for _ in range(pick.randint(1, 30))) for _ in range(count)]


def classes():
    """The class of every code point, in blocks of 4,096: Other 0, Letter 1, Number 2, Space 3 (0 for surrogates, no characters)."""
    ranks = {bytes([b]): b for b in range(256)}
    of = [tiktoken.Encoding("class", pat_str=p, mergeable_ranks=ranks, special_tokens={})
          for p in (r"\p{L}", r"\p{N}", r"\s")]

    def char_class(c):
        if 0xD800 <= c <= 0xDFFF:
            return 0
        return next((i + 1 for i, e in enumerate(of) if e.encode_ordinary(chr(c))), 0)

    return [str(ids_hash(char_class(c) for c in range(b, b + 4096))) for b in range(0, 0x110000, 4096)]


def every_code_point(encoding):
    """Ids of each code point between letters, digits, spaces and newlines, hashed in blocks of 4,096 code points."""
    blocks = []
    for b in range(0, 0x110000, 4096):
        h = 14695981039346656037
        for c in range(b, b + 4096):
            if not 0xD800 <= c <= 0xDFFF:
                x = chr(c)
                h = ids_hash(encoding.encode_ordinary(f"a{x}b '{x} {x}{x}1{x}\n{x} "), h)
        blocks.append(str(h))
    return blocks


def main():
    data = pathlib.Path(sys.argv[1])
    golden = {"tiktoken": tiktoken.__version__, "classes": classes(), "encodings": {}}
    strings = STRINGS + random_strings()
    golden["strings"] = strings
    for name, encoding in encodings(data).items():
        entry = {"texts": {}, "strings": [encoding.encode_ordinary(s) for s in strings],
                 "code_points": every_code_point(encoding)}
        for text in TEXTS:
            path = data / text
            raw = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()
            ids = encoding.encode_ordinary(raw.decode("utf-8"))
            entry["texts"][text] = {"count": len(ids), "hash": str(ids_hash(ids)), "first": ids[:16]}
        golden["encodings"][name] = entry
    out = pathlib.Path(__file__).parent / "tokenizer_golden.json"
    lines = json.dumps(golden, separators=(",", ":"))
    out.write_text(lines.replace('],"', '],\n"').replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
