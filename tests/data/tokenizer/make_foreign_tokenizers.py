#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes foreign/: small tokenizers of sentencepiece and of Hugging Face's tokenizers, learnt from weft's sample corpus, and
foreign_golden.json: the ids that those programs give strings.

    pip install sentencepiece==0.2.3 tokenizers==0.23.3
    python3 tests/data/tokenizer/make_foreign_tokenizers.py

Besides what they learnt, sentencepiece's models have a table of normalisation of three rules and all bytes, so that both
treatments of unknown characters are tested. So it is with unigram models of tokenizers, which get a small table too, because
the published one has 240 KB; against_reference.py compares with that one.
"""
import base64
import gzip
import io
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
UNIGRAM = ["t5", "xlmr", "unigram_bytes"]
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
STRINGS = ["", " ", "the old man sees a boat.", "  two  blanks\tand a tab ", "Den gamle mannen ser en b\u00e5t.", "ABC abc 12345 3.14",
           "\uff21\uff22 \u00a0x\u3000y", "\u65e5\u672c\u8a9e \U0001f600\U0001f469\u200d\U0001f4bb", "\u2581 \u2581x", "<s> </s> <unk> <|endoftext|>",
           "it's I'LL '\u017ft", "a\u0085b\u2028c", "x" * 40, "e\u0301 \u212b A\u030a \u1112\u1161\u11ab q\u0323\u0307 \ufb01 \u0958",
           "12 34 \u0661\u0662 \u2460\u00bd x9y8z 1e-5", "ask <tool>call</tool> 1<tool>2", "see  <mask> a<mask>", "old\u00a0\u0301 man \u2019s  \u00bd <extra_id_0> x", "<tool><|endoftext|></tool>\u0301", "\u00e6\u00f8\u00e5\u00c6\u00d8\u00c5"]


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


def varint(message, at):
    value = shift = 0
    while True:
        byte = message[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, at


def field(message, wanted):
    """The first field of bytes with this number of a message in protobuf's wire format."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        size = {0: 0, 1: 8, 5: 4}.get(key & 7)
        if key & 7 in (0, 2):
            value, at = varint(message, at)
            size = value if key & 7 == 2 else 0
        if key >> 3 == wanted and key & 7 == 2:
            return message[at:at + size]
        at += size
    raise ValueError(f"no field {wanted}")


def charsmap(**options):
    """The table of normalisation that sentencepiece makes with these options (ModelProto.normalizer_spec)."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(["the old man"] * 9), model_writer=model, vocab_size=20,
                                             hard_vocab_limit=False, num_threads=1, minloglevel=2, **options)
    return field(field(model.getvalue(), 3), 2)


def small_charsmap():
    """Characters by others, by none, and by a blank; and characters that together are a grapheme."""
    rules = {"FF21": "41", "FF22": "42", "3000": "20", "A0": "20", "9": "20", "85": "", "FB01": "66 69", "65 301": "E9",
             "D A": "20", "1112 1161": "D558", "1F600": "3A 29", "661": "31", "BD": "31 2044 32", "41 30A": "C5"}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rules.tsv"
        path.write_text("".join(f"{characters}\t{by}\n" for characters, by in rules.items()))
        return charsmap(normalization_rule_tsv=str(path))


def precompiled(table):
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(table).decode()}


def metaspace(scheme, split=True):
    return {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": split}


def sequence(kind, *steps):
    return {"type": "Sequence", kind: list(steps)}


def replace(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


def unigram_structures(table):
    """What the files of unigram models have around them. T5's as transformers converts it, XLM-RoBERTa's as published."""
    blanks = {"Regex": " {2,}"}
    return {
        "t5": {
            "normalizer": sequence("normalizers", precompiled(table), {"type": "Strip", "strip_left": False, "strip_right": True},
                                   replace(blanks, "\u2581")),
            "pre_tokenizer": metaspace("always"), "decoder": metaspace("always")},
        "xlmr": {
            "normalizer": precompiled(table),
            "pre_tokenizer": sequence("pretokenizers", {"type": "WhitespaceSplit"}, metaspace("always")),
            "decoder": metaspace("always")},
        "unigram_bytes": {
            "normalizer": sequence("normalizers", replace({"String": "\u2019"}, "'"), {"type": "NFKC"}, {"type": "Lowercase"},
                                   replace(blanks, " ")),
            "pre_tokenizer": metaspace("first", split=False),
            "decoder": sequence("decoders", replace({"String": "\u2581"}, " "), {"type": "ByteFallback"}, {"type": "Fuse"},
                                {"type": "Strip", "content": " ", "start": 1, "stop": 0})},
    }


def train_unigram(texts):
    """A unigram model, and its file with each of the structures around it."""
    names = ["<pad>", "</s>", "<unk>", "<s>"]
    made = tokenizers.Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    made.train_from_iterator(texts, trainers.UnigramTrainer(vocab_size=300, special_tokens=names, unk_token="<unk>",
                                                            show_progress=False))
    file = json.loads(made.to_str())
    for name, structure in unigram_structures(small_charsmap()).items():
        changed = json.loads(json.dumps({**file, **structure}))
        model = changed["model"]
        if name == "t5":  # its added tokens are pieces, of score 0
            model["vocab"] += [[f"<extra_id_{i}>", 0.0] for i in (1, 0)]
        if name == "unigram_bytes":
            model["byte_fallback"] = True
            model["vocab"] += [[f"<0x{byte:02X}>", 0.0] for byte in range(256)]
        own = tokenizers.Tokenizer.from_str(json.dumps(changed))
        if name == "t5":
            own.add_special_tokens([f"<extra_id_{i}>" for i in (1, 0)])
            own.add_tokens([AddedToken("<tool>", normalized=False)])
        if name == "xlmr":
            own.add_special_tokens([AddedToken("<mask>", lstrip=True)])
        before, after = {"t5": ("", " </s>"), "xlmr": ("<s> ", " </s>"), "unigram_bytes": ("<s> ", "")}[name]
        own.post_processor = processors.TemplateProcessing(f"{before}$A{after}", special_tokens=[("<s>", 3), ("</s>", 1)])
        (HERE / f"{name}.json").write_text(own.to_str())


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
    train_unigram(texts)
    strings = STRINGS + random_strings()
    golden = {"strings": strings, "ids": {}, "decoded": {}}
    for name in ("unigram", "bpe"):
        processor = sentencepiece.SentencePieceProcessor(model_file=str(HERE / f"{name}.model"))
        golden["ids"][name] = [processor.encode(s) for s in strings]
        golden["decoded"][name] = [processor.decode(ids) for ids in golden["ids"][name]]
    for name in BYTES + CHARACTERS + UNIGRAM:
        tokenizer = tokenizers.Tokenizer.from_file(str(HERE / f"{name}.json"))
        golden["ids"][name] = [tokenizer.encode(s, add_special_tokens=False).ids for s in strings]
        golden["decoded"][name] = [tokenizer.decode(ids, skip_special_tokens=False) for ids in golden["ids"][name]]
    (HERE.parent / "foreign_golden.json").write_text(
        json.dumps(golden, separators=(",", ":")).replace('],[', '],\n[') + "\n")


if __name__ == "__main__":
    main()
