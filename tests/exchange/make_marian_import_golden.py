#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes marian/ beside this script: two small SentencePiece models, learnt from weft's sample corpus, and golden.json: the
ids that Hugging Face's MarianTokenizer gives strings with them, and the logits and greedy texts of small MarianMT models.

    python make_marian_import_golden.py        needs torch, transformers and sentencepiece

The weights are those of make_gpt2_golden.py's formula. The models of both languages are numbered by one vocabulary, as those
of opus-mt are, or by one each.
"""

import gzip
import json
import pathlib
import tempfile

import sentencepiece
import torch
import transformers
from make_gpt2_golden import rounded, value
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

HERE = pathlib.Path(__file__).parent / "marian"
SAMPLE = pathlib.Path(__file__).parents[2] / "configs/sample"
SIDES = ["source", "target"]
STRINGS = ["", " ", "the old man sees a boat.", "  two  blanks\tand a tab ", "Den gamle mannen ser en b\u00e5t.", "ABC abc 12345",
           "\uff21\uff22 \u00a0x", "\u65e5\u672c\u8a9e \U0001f600", "\u2581 \u2581x", ">>nob<< the old man", ">>nob<<the old man",
           ">>xyz<< the old man", " >>nob<< the", "a >>nob<< the", ">> a << b", ">>a", "<<a", "\u00f8\u00e5\u00e6", "x" * 30]
POSITIONS = [0, 3, 6]  # the positions whose logits are stored
NEW_TOKENS = 12
BASE = dict(d_model=16, encoder_layers=3, decoder_layers=3, encoder_attention_heads=2, decoder_attention_heads=2,
            encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=64, activation_function="swish",
            scale_embedding=True)
CASES = {
    "shared": ({}, False),
    "separate, relu": (dict(share_encoder_decoder_embeddings=False, encoder_layers=1, decoder_layers=2,
                            activation_function="relu", scale_embedding=False), True),
    "separate, untied": (dict(share_encoder_decoder_embeddings=False, tie_word_embeddings=False, encoder_layers=1,
                              decoder_layers=1, activation_function="gelu"), True),
}


def train(rows):
    with tempfile.TemporaryDirectory() as folder:
        rules = pathlib.Path(folder) / "rules.tsv"
        rules.write_text("FF21\t41\nFF22\t42\n00A0\t20\n")
        for column, side in enumerate(SIDES):
            kind = dict(model_type="bpe") if side == "target" else dict(model_type="unigram")
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(row[column] for row in rows), model_prefix=f"{folder}/{side}", vocab_size=110,
                normalization_rule_tsv=str(rules), num_threads=1, minloglevel=2, bos_id=-1, **kind)
            (HERE / f"{side}.spm").write_bytes((pathlib.Path(folder) / f"{side}.model").read_bytes())


def pieces(side):
    model = sentencepiece.SentencePieceProcessor()
    model.Load(str(HERE / f"{side}.spm"))
    return [model.id_to_piece(i) for i in range(model.get_piece_size())]


def numbered(sides):
    """The pieces of some sides, numbered as none of their files does: by their bytes; then a language and the pad token. Some
    pieces are left out, as the vocabulary of a trained model lacks those that its text never had."""
    found = sorted({piece for side in sides for piece in pieces(side)} - {"</s>", "<unk>"})
    del found[7::40]
    return {piece: i for i, piece in enumerate(["</s>", "<unk>", *found, ">>nob<<", "<pad>"])}


def tokenizer(vocabularies):
    """vocabularies: one of both languages, or one each."""
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for name, vocabulary in zip(["vocab.json", "target_vocab.json"], vocabularies):
            path = pathlib.Path(folder) / name
            path.write_text(json.dumps(vocabulary))
            files["vocab" if name == "vocab.json" else "target_vocab_file"] = str(path)
        return MarianTokenizer(str(HERE / "source.spm"), str(HERE / "target.spm"), separate_vocabs=len(vocabularies) == 2,
                               **files)


def model_of(config):
    model = MarianMTModel(config).eval()
    tensors = {}
    with torch.no_grad():
        for key, tensor in model.state_dict().items():
            shared, tied = config.share_encoder_decoder_embeddings, config.tie_word_embeddings
            if "embed_positions" in key or (key == "lm_head.weight" and tied) or (shared and ".embed_tokens." in key):
                continue
            tensors[key] = list(tensor.shape)
            tensor.copy_(torch.tensor([value(key, i) for i in range(tensor.numel())]).view(tensor.shape))
    return model, tensors


def run_case(options, vocabularies, sentences):
    reader = tokenizer(vocabularies)
    target = vocabularies[-1]
    config = MarianConfig(**{**BASE, **options}, vocab_size=len(vocabularies[0]), decoder_vocab_size=len(target),
                          decoder_start_token_id=target["<pad>"], pad_token_id=target["<pad>"], eos_token_id=target["</s>"],
                          forced_eos_token_id=None)
    model, tensors = model_of(config)
    source = reader(sentences[0][0]).input_ids
    text = [target["<pad>"]] + reader(text_target=sentences[0][1]).input_ids[:max(POSITIONS)]
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([text])).logits[0]
    generated = []
    for sentence, _ in sentences:
        ids = torch.tensor([reader(sentence).input_ids])
        with torch.no_grad():
            out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, num_beams=1,
                                 max_new_tokens=NEW_TOKENS, bad_words_ids=[[target["<pad>"]], [target["<unk>"]]])
        generated.append(reader.decode(out[0], skip_special_tokens=True, clean_up_tokenization_spaces=False))
    return {"config": {k: v for k, v in config.to_dict().items() if v is not None}, "tensors": tensors, "source": source,
            "text": text, "logits": [rounded(logits[p]) for p in POSITIONS], "generated": generated}


def main():
    HERE.mkdir(exist_ok=True)
    with gzip.open(SAMPLE / "train.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines][:400]
    train(rows)
    sets = {"shared": [numbered(SIDES)], "separate": [numbered([side]) for side in SIDES]}
    golden = {"transformers": transformers.__version__, "strings": STRINGS, "positions": POSITIONS,
              "new_tokens": NEW_TOKENS, "sentences": [row[0] for row in rows[:4]], "vocabularies": sets, "ids": {}, "cases": {}}
    for name, vocabularies in sets.items():
        reader = tokenizer(vocabularies)
        golden["ids"][name] = {"source": [reader(text).input_ids for text in STRINGS],
                               "target": [reader(text_target=text).input_ids for text in STRINGS]}
    for name, (options, separate) in CASES.items():
        golden["cases"][name] = run_case(options, sets["separate" if separate else "shared"], rows[:4])
    (HERE / "golden.json").write_text(json.dumps(golden, ensure_ascii=True, indent=None) + "\n")


if __name__ == "__main__":
    main()
