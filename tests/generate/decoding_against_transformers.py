#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Greedy and beam texts of a model that weft trained, by weft and by transformers, which loads what weft exported.

usage: decoding_against_transformers.py WEFT CHECKPOINT PROMPTS [--max-tokens 40] [--json OUT]
  WEFT        the program
  CHECKPOINT  of a language model: a run directory or a checkpoint
  PROMPTS     a file, a prompt a line

Texts are compared token by token. Where two differ, the first differing step must be one where the scores of both
choices (greedy: their logits; beams: the scores of the two texts) differ by less than 1e-3; it is listed. Beams are listed too
if weft took a text that ended and transformers one that was cut at the longest length, which it ranks by score alone
(docs/evaluation.md, "Beam search"). Anything else fails. Needs torch and transformers."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

# The options of weft, and those of generate() for the same method.
CASES = [
    ("greedy", {"method": "greedy"}, {}),
    ("greedy, repetition penalty 1.3", {"method": "greedy", "repetition_penalty": 1.3}, {"repetition_penalty": 1.3}),
    ("greedy, no 2-gram twice", {"method": "greedy", "no_repeat_ngram": 2}, {"no_repeat_ngram_size": 2}),
    ("greedy, at least 12 tokens", {"method": "greedy", "min_length": 12}, {"min_new_tokens": 12}),
    ("beam 4", {"beam": 4}, {"num_beams": 4, "early_stopping": True}),
    ("beam 4, bound", {"beam": 4, "stop": "bound"}, {"num_beams": 4, "early_stopping": "never"}),
    ("beam 5, length penalty 0.6", {"beam": 5, "length_penalty": 0.6},
     {"num_beams": 5, "early_stopping": True, "length_penalty": 0.6}),
    ("beam 3, no 3-gram twice", {"beam": 3, "no_repeat_ngram": 3},
     {"num_beams": 3, "early_stopping": True, "no_repeat_ngram_size": 3}),
    ("beam 4, repetition penalty 1.2", {"beam": 4, "repetition_penalty": 1.2},
     {"num_beams": 4, "early_stopping": True, "repetition_penalty": 1.2}),
]


def weft_texts(weft, checkpoint, prompts, options, max_tokens):
    words = [weft, "generate", "--checkpoint", checkpoint, "--prompts", prompts, "--json", "--max-tokens",
             str(max_tokens), "--search"] + [f"{key}={value}" for key, value in options.items()]
    out = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def peer_text(model, ids, options, max_tokens, end):
    """The tokens after the prompt without the end token, whether the text ended, the score of a beam, and the scores of each step."""
    out = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long), do_sample=False,
                         max_new_tokens=max_tokens, eos_token_id=end, pad_token_id=end, return_dict_in_generate=True,
                         output_scores=True, **options)
    tokens = out.sequences[0, len(ids):].tolist()
    ended = end in tokens
    score = out.sequences_scores[0].item() if "num_beams" in options else None
    return (tokens[:tokens.index(end)] if ended else tokens), ended, score, out.scores


def difference(ours, peer, ended, score, scores, end):
    """None if the texts are equal, else how far apart the two choices were."""
    mine = ours["tokens"] + ([end] if ours["ending"] == "end" else [])
    theirs = peer + ([end] if ended else [])
    if mine == theirs:
        return None
    if score is not None:
        return abs(score - ours["score"])
    step = next(i for i in range(len(mine) + 1) if mine[i:i + 1] != theirs[i:i + 1])
    if step >= min(len(mine), len(theirs)):
        return float("inf")
    return abs(scores[step][0, mine[step]] - scores[step][0, theirs[step]]).item()


def compare(arguments, exported):
    model = AutoModelForCausalLM.from_pretrained(exported).eval()
    tokenizer = AutoTokenizer.from_pretrained(exported)
    end = model.config.eos_token_id
    with open(arguments.prompts, encoding="utf-8") as lines:
        prompts = [line.rstrip("\n") for line in lines]
    report = []
    for name, options, peer_options in CASES:
        found = weft_texts(arguments.weft, arguments.checkpoint, arguments.prompts, options, arguments.max_tokens)
        near, cut, wrong = [], [], []
        for prompt, ours in zip(prompts, found, strict=True):
            ids = tokenizer(prompt)["input_ids"] or [end]
            with torch.inference_mode():
                peer = peer_text(model, ids, peer_options, arguments.max_tokens, end)
            apart = difference(ours, *peer, end)
            if apart is not None:
                by_rule = "num_beams" in peer_options and ours["ending"] == "end" and not peer[1]
                (near if apart < 1e-3 else cut if by_rule else wrong).append({"prompt": prompt, "apart": apart, "weft": ours["text"],
                                                          "transformers": tokenizer.decode(peer[0])})
        report.append({"case": name, "texts": len(prompts), "equal": len(prompts) - len(near + cut + wrong),
                       "near": near, "cut": cut, "wrong": wrong})
        print(f"{name}: {report[-1]['equal']} of {len(prompts)} equal, {len(near)} nearly tied, {len(cut)} cut there, "
              f"{len(wrong)} WRONG",
              flush=True)
        for text in near + cut + wrong:
            print(f"  {text}")
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("weft", "checkpoint", "prompts"):
        parser.add_argument(name)
    parser.add_argument("--max-tokens", type=int, default=40)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        exported = os.path.join(scratch, "exported")
        subprocess.run([arguments.weft, "export-hf", arguments.checkpoint, exported], check=True,
                       stderr=subprocess.DEVNULL)
        report = compare(arguments, exported)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as out:
            json.dump(report, out, indent=1)
    return any(case["wrong"] for case in report)


if __name__ == "__main__":
    sys.exit(main())
