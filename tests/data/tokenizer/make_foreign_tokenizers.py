#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes foreign/: small tokenizers of sentencepiece and of Hugging Face's tokenizers, learnt from weft's sample corpus, and
foreign_golden.json: the ids that those programs give strings.

    pip install sentencepiece==0.2.3 tokenizers==0.23.3
    python3 tests/data/tokenizer/make_foreign_tokenizers.py

Besides what they learnt, sentencepiece's models have a table of normalisation of three rules and all bytes, so that both
treatments of unknown characters are tested.
"""
import gzip
import json
import pathlib
import random
import tempfile

import sentencepiece
import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).parent / "foreign"
SAMPLE = pathlib.Path(__file__).parents[3] / "configs/sample"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
BYTES, CHARACTERS = ["gpt2", "llama3", "qwen2", "smollm2"], ["llama2", "mistral", "gemma"]
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
STRINGS = ["", " ", "the old man sees a boat.", "  two  blanks\tand a tab ", "Den gamle mannen ser en b\u00e5t.", "ABC abc 12345 3.14",
           "\uff21\uff22 \u00a0x\u3000y", "\u65e5\u672c\u8a9e \U0001f600\U0001f469\u200d\U0001f4bb", "\u2581 \u2581x", "<s> </s> <unk> <|endoftext|>",
           "it's I'LL '\u017ft", "a\u0085b\u2028c", "x" * 40, "e\u0301 \u212b A\u030a \u1112\u1161\u11ab q\u0323\u0307 \ufb01 \u0958",
           "12 34 \u0661\u0662 \u2460\u00bd x9y8z 1e-5", "ask <tool>call</tool> 1<tool>2", "<tool><|endoftext|></tool>\u0301", "\u00e6\u00f8\u00e5\u00c6\u00d8\u00c5"]


def random_strings(count=200):
    pick = random.Random(13)
    alphabet = list("  \t'.,-!?aeinorstdlABET0129\u00e5\u00f8\u00e6\u00e9\u00a0\u3000\u2581\u4e2d\U0001f600\uff21\u0301\u030a\u0323\u1112\u1161\u11ab")
    alphabet.append("<tool>")
    return ["".join(pick.choice(alphabet) for _ in range(pick.randint(1, 40))) for _ in range(count)]


def train_sentencepiece(texts):
    with tempfile.TemporaryDirectory() as folder:
        rules = pathlib.Path(folder) / "rules.tsv"
        rules.write_text("FF21\t41\nFF22\t42\n3000\t20\n")
        for name, options in {
            "unigram": {"model_type": "unigram", "normalization_rule_tsv": str(rules), "pad_id": 3},
            "bpe": {"model_type": "bpe", "normalization_rule_name": "identity", "byte_fallback": True, "vocab_size": 500,
                    "user_defined_symbols": ["<sep>"], "remove_extra_whitespaces": False},
        }.items():
            sentencepiece.SentencePieceTrainer.train(
                **{"sentence_iterator": iter(texts), "model_prefix": f"{folder}/{name}", "vocab_size": 300,
                   "num_threads": 1, "minloglevel": 2, **options})
            (HERE / f"{name}.model").write_bytes((pathlib.Path(folder) / f"{name}.model").read_bytes())


def train_tokenizers(texts):
    llama3 = [pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    qwen2 = [pre_tokenizers.Split(Regex(QWEN2), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    smollm2 = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    for name, pre in {"gpt2": pre_tokenizers.ByteLevel(add_prefix_space=False), "llama3": pre_tokenizers.Sequence(llama3),
                      "qwen2": pre_tokenizers.Sequence(qwen2), "smollm2": pre_tokenizers.Sequence(smollm2)}.items():
        made = tokenizers.Tokenizer(models.BPE(ignore_merges=name == "llama3"))
        made.pre_tokenizer, made.decoder = pre, decoders.ByteLevel()
        if name == "qwen2":
            made.normalizer = normalizers.NFC()
        made.train_from_iterator(texts, trainers.BpeTrainer(
            vocab_size=400, special_tokens=["<|endoftext|>", "<pad>"], show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        if name == "qwen2":  # as its marks of tool calls: in all text, and shown
            made.add_tokens([AddedToken(text, normalized=False, special=False) for text in ("<tool>", "</tool>")])
        end = ("<|endoftext|>", made.token_to_id("<|endoftext|>"))
        if name == "llama3":
            made.post_processor = processors.TemplateProcessing("<|endoftext|> $A", special_tokens=[end])
        (HERE / f"{name}.json").write_text(with_every_merge(made.to_str()) if name == "llama3" else made.to_str())


def train_characters(texts):
    """BPE of characters with byte fallback, learnt within words, in the three ways in which blanks are written."""
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    made = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    made.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=600, special_tokens=["<unk>", "<s>", "</s>"] + bytes_, limit_alphabet=60, show_progress=False))
    file = json.loads(made.to_str())
    file["added_tokens"] = [token for token in file["added_tokens"] if token["content"] not in bytes_]
    blanks, prepend = normalizers.Replace(" ", "\u2581"), normalizers.Prepend("\u2581")
    undo = [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]
    for name, (normalizer, pre, strips) in {
        "llama2": (normalizers.Sequence([prepend, blanks]), None, True),
        "mistral": (None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False), True),
        "gemma": (blanks, pre_tokenizers.Split(" ", "merged_with_previous"), False),
    }.items():
        made = tokenizers.Tokenizer.from_str(json.dumps(file))
        if normalizer is not None:
            made.normalizer = normalizer
        made.decoder = decoders.Sequence(undo + ([decoders.Strip(" ", 1, 0)] if strips else []))
        made.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 1)])
        text = json.loads(made.to_str())
        text["pre_tokenizer"] = pre and json.loads(pre_json(pre))
        (HERE / f"{name}.json").write_text(json.dumps(text, ensure_ascii=False))


def pre_json(pre):
    holder = tokenizers.Tokenizer(models.BPE())
    holder.pre_tokenizer = pre
    return json.dumps(json.loads(holder.to_str())["pre_tokenizer"])


def with_every_merge(text):
    """A tokenizer as in files that were converted from ranks: every two tokens that join to a third are a merge."""
    file = json.loads(text)
    vocab = file["model"]["vocab"]
    special = {token["content"] for token in file["added_tokens"]}
    merges = [[token[:i], token[i:]] for token in sorted(vocab, key=vocab.get) if token not in special
              for i in range(1, len(token)) if token[:i] in vocab and token[i:] in vocab]
    file["model"]["merges"] = merges
    return json.dumps(file, ensure_ascii=False)


def main():
    texts = [line for path in sorted(SAMPLE.glob("*.gz"))
             for line in gzip.decompress(path.read_bytes()).decode().replace("\t", "\n").splitlines() if line][:4000]
    HERE.mkdir(exist_ok=True)
    train_sentencepiece(texts)
    train_tokenizers(texts)
    train_characters(texts)
    strings = STRINGS + random_strings()
    golden = {"strings": strings, "ids": {}, "decoded": {}}
    for name in ("unigram", "bpe"):
        processor = sentencepiece.SentencePieceProcessor(model_file=str(HERE / f"{name}.model"))
        golden["ids"][name] = [processor.encode(s) for s in strings]
        golden["decoded"][name] = [processor.decode(ids) for ids in golden["ids"][name]]
    for name in BYTES + CHARACTERS:
        tokenizer = tokenizers.Tokenizer.from_file(str(HERE / f"{name}.json"))
        golden["ids"][name] = [tokenizer.encode(s, add_special_tokens=False).ids for s in strings]
        golden["decoded"][name] = [tokenizer.decode(ids, skip_special_tokens=False) for ids in golden["ids"][name]]
    (HERE.parent / "foreign_golden.json").write_text(
        json.dumps(golden, separators=(",", ":")).replace('],[', '],\n[') + "\n")


if __name__ == "__main__":
    main()
