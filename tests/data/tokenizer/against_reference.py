#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares weft's ids with those of tiktoken, tokenizers and sentencepiece on texts that are made to be difficult.

    pip install tiktoken==0.14.0 tokenizers==0.23.3 sentencepiece==0.2.3
    python3 tests/data/tokenizer/against_reference.py build/cpu/weft [DOCUMENTS] [FOLDER]

FOLDER (default: shared/data beside the sources) has gpt2/vocab.json, gpt2/merges.txt and tiktoken/cl100k_base.tiktoken;
nothing is downloaded. o200k's pattern is compared with cl100k's ranks. Texts are lines, so they hold no line feed and end in no
carriage return; those go through `weft prepare` in other tests. Unigram models are compared with several steps around them
too, and with SentencePiece's published table of normalisation. Prints a line a comparison; fails on any difference.
"""
import base64
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import sentencepiece
import tiktoken
import tokenizers
from tiktoken.load import data_gym_to_mergeable_bpe_ranks, load_tiktoken_bpe
from tiktoken_ext import openai_public

from make_foreign_tokenizers import UNIGRAM, charsmap, metaspace, precompiled, replace, sequence, unigram_structures

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOREIGN = ROOT / "tests/data/tokenizer/foreign"
PARTS = ["'s", "'S", "'\u017f", "'ll", "'LL", "'re", "don't", "\r", "\r\r", "\t", " ", "  ", "   ", " " * 40, "\u0085", "\u2028", "\u2029",
         "\u00a0", "\u3000", "\u200b", "\U0001f469\u200d\U0001f4bb", "\U0001f600", "\U0001f1f3\U0001f1f4", "<|endoftext|>", "<s>", "</s>", "<unk>",
         "<pad>", "<sep>", "\u2581", "\u0301", "e\u0301", "\u01c5", "\u0130", "\u1e9e", "\u03a3", "12345", "3.14", "\u0663\u0664", "\u00bd", "camelCase", "HTTPServer",
         "//", "/", "!?", "...", "-", "_", "\x00", "\x1c", "\x7f", "\ufeff", "\ufffd", "the", "Boat", "\u4e2d\u6587", "\u65e5\u672c\u8a9e", "\u0440\u0443\u0441", "\uff21\uff22", "\U000323af",
         "\U0001e900", "<mask>", "<extra_id_0>", "<tool>", "\u00a0\u0301", "\ufb01", "e\u0302\u0301", "\u3000\u030a", "\u00ad", "\u1112\u1161\u11ab",
         "\u2460", "\u2019", "<0x41>", "\u0915\u094d\u0937", "\u0e33", "\U0001f44d\U0001f3fd", "a\u200d"]


def documents(count):
    pick = random.Random(1313)

    def code_point():
        while True:
            c = pick.choice([pick.randrange(0x20, 0x250), pick.randrange(0x110000), pick.randrange(0x3000, 0xA000)])
            if not 0xD800 <= c <= 0xDFFF:
                return chr(c)

    for i in range(count):
        text = "".join(pick.choice(PARTS) if pick.random() < 0.7 else code_point() for _ in range(pick.randint(1, 40)))
        if i % 500 == 0:
            text += " " * 3000 + "x" * 300
        yield text.replace("\n", "").lstrip("\ufeff").rstrip("\r")


def compare(name, weft, path, texts, expected, options=()):
    command = [weft, "tokenize", "--tokenizer", str(path), "--json", *options]
    shown = subprocess.run(command, input="\n".join(texts).encode() + b"\n", stdout=subprocess.PIPE, check=True).stdout
    found = [json.loads(line)["ids"] for line in shown.decode().split("\n")[:-1]]
    assert len(found) == len(texts), (name, len(found), len(texts))
    wrong = [i for i in range(len(texts)) if found[i] != expected[i]]
    print(f"{name}: {len(texts)} documents, {sum(map(len, found))} ids, {len(wrong)} documents differ", flush=True)
    for i in wrong[:3]:
        print(f"  {texts[i]!r}\n  weft {found[i]}\n  not  {expected[i]}")
    return len(wrong)


def write_ranks(path, ranks):
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items()))


O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])


def in_weft_format(ranks, pattern):
    """weft's own file of ranks, with a pattern that differs from the one published with these ranks."""
    def token(text):
        try:
            return text.decode()
        except UnicodeDecodeError:
            return {"hex": text.hex()}

    tokens = [[token(text), rank] for text, rank in sorted(ranks.items(), key=lambda entry: entry[1])]
    return json.dumps({"format": "weft-tokenizer", "version": 1, "kind": "bpe", "pattern": pattern, "rule": "ranks",
                       "tokens": tokens, "specials": [], "roles": {}})


def unigram_variants():
    """Steps around a unigram model, by name: with the published table, and what other models have."""
    table = charsmap(normalization_rule_name="nmt_nfkc")
    prepend, blanks = {"type": "Prepend", "prepend": "\u2581"}, replace({"String": " "}, "\u2581")
    strip = {"type": "Strip", "strip_left": True, "strip_right": True}
    yield from unigram_structures(table).items()
    for name, normalizer, pre_tokenizer in (
            ("blanks by the normalizer", sequence("normalizers", prepend, blanks), None),
            ("words alone", precompiled(table), {"type": "WhitespaceSplit"}),
            ("no blank first", sequence("normalizers", strip, {"type": "NFC"}), metaspace("never", split=False)),
            ("first", sequence("normalizers", precompiled(table), {"type": "NFKD"}), metaspace("first")),
            ("stripped", sequence("normalizers", strip, precompiled(table), replace({"Regex": " {2,}"}, " ")), metaspace("always")),
            ("ALBERT's", sequence("normalizers", replace({"String": "''"}, '"'), {"type": "NFKD"}, {"type": "StripAccents"},
                                  {"type": "Lowercase"}, precompiled(table), replace({"Regex": " {2,}"}, " ")),
             sequence("pretokenizers", {"type": "WhitespaceSplit"}, metaspace("always"))),
            ("nothing", None, None)):
        yield name, {"normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "decoder": None}


def compare_unigram(weft, folder, texts):
    wrong = 0
    for source in UNIGRAM:
        file = json.loads((FOREIGN / f"{source}.json").read_text())
        for name, structure in unigram_variants():
            path = pathlib.Path(folder) / "unigram.json"
            path.write_text(json.dumps({**file, **structure}))
            tokenizer = tokenizers.Tokenizer.from_file(str(path))
            wrong += compare(f"pieces of {source}, {name}, tokenizers", weft, path, texts,
                             [tokenizer.encode(t, add_special_tokens=False).ids for t in texts], ["--specials"])
    return wrong


def main():
    weft = sys.argv[1]
    texts = list(documents(int(sys.argv[2]) if len(sys.argv) > 2 else 4549))
    data = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else ROOT.parent / "shared/data"
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        ranks = data_gym_to_mergeable_bpe_ranks(vocab_bpe_file=str(data / "gpt2/merges.txt"),
                                                encoder_json_file=str(data / "gpt2/vocab.json"))
        r50k = pathlib.Path(folder) / "r50k_base.tiktoken"
        write_ranks(r50k, ranks)
        gpt2 = tiktoken.Encoding("r50k", pat_str=openai_public.r50k_pat_str, mergeable_ranks=ranks, special_tokens={})
        wrong += compare("r50k_base, tiktoken", weft, r50k, texts, [gpt2.encode_ordinary(t) for t in texts])
        path = data / "tiktoken/cl100k_base.tiktoken"
        cl100k = load_tiktoken_bpe(str(path))
        gpt4 = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
                r"|\s+(?!\S)|\s")
        encoding = tiktoken.Encoding("cl100k", pat_str=gpt4, mergeable_ranks=cl100k, special_tokens={})
        wrong += compare("cl100k_base, tiktoken", weft, path, texts, [encoding.encode_ordinary(t) for t in texts])
        patterned = pathlib.Path(folder) / "o200k.json"
        patterned.write_text(in_weft_format(cl100k, "o200k"))
        encoding = tiktoken.Encoding("o200k", pat_str=O200K, mergeable_ranks=cl100k, special_tokens={})
        wrong += compare("o200k's pattern, tiktoken", weft, patterned, texts, [encoding.encode_ordinary(t) for t in texts])
        wrong += compare_unigram(weft, folder, texts)
    for name in ("gpt2", "llama2", "llama3", "qwen2", "smollm2", "mistral", "gemma", *UNIGRAM):
        tokenizer = tokenizers.Tokenizer.from_file(str(FOREIGN / f"{name}.json"))
        wrong += compare(f"{name}.json, tokenizers", weft, FOREIGN / f"{name}.json", texts,
                         [tokenizer.encode(t, add_special_tokens=False).ids for t in texts], ["--specials"])
    for name in ("unigram", "bpe"):
        processor = sentencepiece.SentencePieceProcessor(model_file=str(FOREIGN / f"{name}.model"))
        wrong += compare(f"{name}.model, sentencepiece", weft, FOREIGN / f"{name}.model", texts,
                         [processor.encode(t) for t in texts])
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
