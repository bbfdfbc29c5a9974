#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times texts of a GPT-2 of 124M's shapes with random weights, by transformers or by CTranslate2, and prints one JSON line
with the seconds of one run. Needs torch and transformers, to make the model CTranslate2 as well.

  decoding.py make FOLDER                                 the model, for both: FOLDER/transformers, FOLDER/ctranslate2
  decoding.py run FOLDER transformers bfloat16 --batch 8
  decoding.py run FOLDER ctranslate2 int8 --beam 5"""

import argparse
import json
import os
import time

VOCABULARY = 50257
END = "<|endoftext|>"  # the last token


def make(options):
    from ctranslate2.converters import TransformersConverter
    from transformers import GPT2Config, GPT2LMHeadModel, set_seed

    folder = os.path.join(options.folder, "transformers")
    set_seed(1)
    GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY)).save_pretrained(folder)
    # The converter requires a vocabulary; the names of the tokens do not matter.
    with open(os.path.join(folder, "vocab.json"), "w", encoding="utf-8") as out:
        json.dump({**{f"t{i}": i for i in range(VOCABULARY - 1)}, END: VOCABULARY - 1}, out)
    with open(os.path.join(folder, "merges.txt"), "w", encoding="utf-8") as out:
        out.write("#version: 0.2\n")
    TransformersConverter(folder).convert(os.path.join(options.folder, "ctranslate2"))


def transformers(options):
    """A function that writes so many tokens of each text, and says how many it wrote."""
    import torch
    from transformers import GPT2LMHeadModel

    torch.set_num_threads(options.threads)
    model = GPT2LMHeadModel.from_pretrained(os.path.join(options.folder, "transformers"), dtype=getattr(torch, options.type))
    model.eval()
    prompts = torch.randint(VOCABULARY - 1, (options.batch, options.prompt), generator=torch.Generator().manual_seed(1))

    def write(count):
        with torch.inference_mode():
            texts = model.generate(prompts, attention_mask=torch.ones_like(prompts), do_sample=False,
                                   num_beams=options.beam, pad_token_id=VOCABULARY - 1, min_new_tokens=count,
                                   max_new_tokens=count)
        return texts.shape[1] - options.prompt

    return write


def ctranslate2(options):
    """A function that writes so many tokens of each text, and says how many it wrote."""
    from ctranslate2 import Generator

    generator = Generator(os.path.join(options.folder, "ctranslate2"), device="cpu", compute_type=options.type,
                          intra_threads=options.threads, inter_threads=1)
    prompts = [[f"t{1000 + i}" for i in range(options.prompt)]] * options.batch

    def write(count):
        texts = generator.generate_batch(prompts, beam_size=options.beam, min_length=count, max_length=count,
                                         include_prompt_in_result=False, max_batch_size=options.batch)
        return min(len(text.sequences_ids[0]) for text in texts)

    return write


PROGRAMS = {"transformers": transformers, "ctranslate2": ctranslate2}


def run(options):
    write = PROGRAMS[options.program](options)
    write(4)  # so that one-time allocations are not measured
    begin = time.perf_counter()
    written = write(options.new)
    seconds = time.perf_counter() - begin
    if written != options.new:
        raise SystemExit(f"{options.program} wrote {written} tokens instead of {options.new}")
    print(json.dumps({"run_seconds": [seconds]}))


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = p.add_subparsers(required=True)
    maker = commands.add_parser("make", help="make the model")
    runner = commands.add_parser("run", help="time it")
    for command, function in ((maker, make), (runner, run)):
        command.set_defaults(function=function)
        command.add_argument("folder", metavar="FOLDER", help="of the model")
    runner.add_argument("program", choices=PROGRAMS)
    runner.add_argument("type", metavar="TYPE", help="of the weights: float32, bfloat16; CTranslate2's int8")
    for name, default, meaning in (("batch", 1, "texts at once"), ("beam", 1, "hypotheses of each; 1: greedy"),
                                   ("prompt", 32, "tokens of a prompt"), ("new", 128, "tokens of a text"),
                                   ("threads", len(os.sched_getaffinity(0)), "of the processor")):
        runner.add_argument("--" + name, type=int, default=default, help=f"{meaning} (%(default)s)")
    return p.parse_args()


if __name__ == "__main__":
    parsed = parse()
    parsed.function(parsed)
