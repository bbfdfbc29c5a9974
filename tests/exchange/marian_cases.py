# SPDX-License-Identifier: Apache-2.0
"""The cases of against_transformers.py about translation models, MarianMT's."""
import gzip
import itertools
import json
import os
import shutil

import numpy
import torch
import transformers
from comparison import SOURCES
from make_marian_import_golden import SIDES, STRINGS, numbered, tokenizer
from stored_models import TEXTS, attention_difference, hold_tensors
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer


def marian(bench):
    """Compares a translation model that weft trains on the sample corpus; greedy texts of 25 of its training sentences."""
    root = bench.scratch / "marian"
    root.mkdir()
    changes = [f"data.directory={root}/data", f"run_dir={root}/run", "model.norm_placement=post", "model.final_norm=false",
               "model.sinusoid_form=halves", "model.scale_embedding=true", "train.max_steps=100", "model.width=64",
               "checkpoint.every_steps=100", "schedule.warmup_steps=10", "evaluation.every_steps=0", "evaluation.every_epochs=0"]
    changes = [word for change in changes for word in ("--set", change)]
    bench.folder = root
    os.symlink(SOURCES / "configs", root / "configs")
    job = SOURCES / "configs/sample/translation.yaml"
    bench.weft("prepare", job, *changes)
    bench.weft("train", job, *changes)
    bench.weft("export-hf", "run", "out")
    model = AutoModelForSeq2SeqLM.from_pretrained(root / "out").eval()
    tokenizer = AutoTokenizer.from_pretrained(root / "out")
    with gzip.open(SOURCES / "configs/sample/train.tsv.gz", "rt", encoding="utf-8") as lines:
        texts = [line.split("\t")[0] for line in itertools.islice(lines, 25)]
    for method, ours, theirs in (("greedy", ["--search", "method=greedy"], dict(num_beams=1)),
                                 ("beam 4", ["--beam", "4"], dict(num_beams=4, early_stopping=True))):
        words = ["translate", "--checkpoint", "run", *ours]
        for option in ("max_length_factor=0", "max_length_extra=40"):
            words += ["--search", option]
        said = bench.weft(*words, text="\n".join(texts) + "\n").splitlines()
        generated = [generated_text(model, tokenizer, text, theirs) for text in texts]
        assert len(said) == len(generated)
        different = [(a, b) for a, b in zip(said, generated) if a != b]
        print(different[:3])
        bench.hold("marian", f"{method}: texts of {len(texts)} that differ", len(different), 0)
    marian_attention(bench, texts[:3])
    bench.weft("import-hf", "out", "back")
    bench.weft("export-hf", "back", "again")
    hold_tensors(bench, "marian", root / "out", root / "again")
    bench.hold("marian", "texts with other ids",
               sum(a != b for a, b in zip(bench.ids("back", texts), bench.ids("run", texts))), 0)
    bench.folder = None


# With weights half as large again, fp32 differs from fp64 by 6e-5 of the largest logit, in transformers too.
MARIAN = dict(d_model=96, encoder_layers=3, decoder_layers=3, encoder_attention_heads=6, decoder_attention_heads=6,
              encoder_ffn_dim=160, decoder_ffn_dim=160, max_position_embeddings=512, activation_function="swish",
              scale_embedding=True, init_std=0.2, forced_eos_token_id=None)
MARIANS = {
    "marian, opus-mt": {},
    "marian, bf16": dict(dtype=torch.bfloat16),
    "marian, fp16": dict(dtype=torch.float16),
    "marian, shards": dict(save=dict(max_shard_size="100KB")),
    "marian, relu, two vocabularies": dict(separate=True, config=dict(activation_function="relu", scale_embedding=False,
                                                                       share_encoder_decoder_embeddings=False)),
    "marian, gelu, untied": dict(separate=True, config=dict(activation_function="gelu", tie_word_embeddings=False,
                                                             share_encoder_decoder_embeddings=False)),
}


def marian_import(bench):
    for name, options in MARIANS.items():
        run_marian(bench, name, **options)


def run_marian(bench, name, config=None, dtype=torch.float32, save=None, separate=False):
    root = bench.scratch / "marian-case"
    shutil.rmtree(root, ignore_errors=True)
    torch.manual_seed(3)
    vocabularies = [numbered([side]) for side in SIDES] if separate else [numbered(SIDES)]
    target = vocabularies[-1]
    config = transformers.MarianConfig(**{**MARIAN, **(config or {})}, vocab_size=len(vocabularies[0]),
                                       decoder_vocab_size=len(target), decoder_start_token_id=target["<pad>"],
                                       pad_token_id=target["<pad>"], eos_token_id=0)
    transformers.MarianMTModel(config).to(dtype).save_pretrained(root / "theirs", **(save or {}))
    tokenizer(vocabularies).save_pretrained(root / "theirs")
    bench.weft("import-hf", root / "theirs", root / "ours")
    bench.weft("export-hf", root / "ours", root / "again")
    hold_tensors(bench, name, root / "theirs", root / "again")
    model, again = (AutoModelForSeq2SeqLM.from_pretrained(root / which, dtype=torch.float32).eval()
                    for which in ("theirs", "again"))
    theirs, exported = (AutoTokenizer.from_pretrained(root / which) for which in ("theirs", "again"))
    end = [theirs.eos_token_id]
    wrong = 0
    for ids, what in (("input_ids", "source-ids"), ("labels", "ids")):
        said = [ours + end for ours in bench.ids(root / "ours", STRINGS + TEXTS, what)]
        wrong += sum(not a == b == c for a, b, c in zip(said, *(
            read(STRINGS + TEXTS, text_target=STRINGS + TEXTS)[ids] for read in (theirs, exported))))
    bench.hold(name, "texts with other ids", wrong, 0)
    source = theirs(TEXTS[1]).input_ids
    fed = [target["<pad>"]] + theirs(text_target=TEXTS[1]).input_ids[:40]
    raw = bench.says(root / "ours", "logits", " ".join(map(str, source)) + "\n" + " ".join(map(str, fed)) + "\n")
    ours = torch.from_numpy(numpy.frombuffer(raw, dtype=numpy.float32).reshape(len(fed), -1).copy())
    with torch.no_grad():
        logits, same = (m(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([fed])).logits[0]
                        for m in (model, again))
    largest = logits.abs().max().item()
    bench.hold(name, f"logits differ (they reach {largest:.3g})", (ours - logits).abs().max().item(), 1e-5 * largest)
    bench.hold(name, "logits of the export differ", (same - logits).abs().max().item(), 0)
    words = ["translate", "--checkpoint", root / "ours", "--search", "method=greedy", "--search", "max_length_factor=0",
             "--search", "max_length_extra=40"]
    texts = [text for text in TEXTS if "\n" not in text]
    said = bench.weft(*words, text="\n".join(texts) + "\n").splitlines()
    never = dict(num_beams=1, bad_words_ids=[[target["<pad>"]], [target["<unk>"]]])
    generated = [generated_text(model, theirs, text, never) for text in texts]
    assert len(said) == len(generated)
    bench.hold(name, f"greedy: texts of {len(texts)} that differ",
               sum(a.strip() != b for a, b in zip(said, generated)), 0)


def marian_attention(bench, texts):
    """Compares all attention between some sentences and the translations that weft gives them."""
    model = AutoModelForSeq2SeqLM.from_pretrained(bench.folder / "out", attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(bench.folder / "out")
    differences = {"encoder": [], "decoder": [], "cross": []}
    for text in texts:
        said = json.loads(bench.weft("attention", text, "--checkpoint", "run", "--json"))
        source = tokenizer(text, return_tensors="pt").input_ids
        translation = tokenizer(text_target=said["text"]["text"], return_tensors="pt").input_ids
        fed = torch.cat([torch.tensor([[model.config.decoder_start_token_id]]), translation[:, :-1]], 1)
        with torch.no_grad():
            theirs = model(input_ids=source, decoder_input_ids=fed, output_attentions=True)
        for kind, found in differences.items():
            found.append(attention_difference(said, kind, theirs[f"{kind}_attentions"]))
    for kind, found in differences.items():
        bench.hold("marian", f"attention differs ({kind})", max(found), 1e-5)


def generated_text(model, tokenizer, text, options):
    ids = tokenizer(text, return_tensors="pt").input_ids
    with torch.no_grad():
        out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=40, **options)
    return tokenizer.decode(out[0], skip_special_tokens=True, clean_up_tokenization_spaces=False)
