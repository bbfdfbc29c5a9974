#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One peer of decode.py: texts of a GPT-2 of 124M's shapes with random weights, by transformers or CTranslate2.
Prints one JSON object with the seconds of each run. Needs torch and transformers, or ctranslate2.

usage: decode_peer.py make FOLDER VOCABULARY_FOLDER    writes FOLDER/hf and FOLDER/ct2
       decode_peer.py run FOLDER PROGRAM TYPE BATCH BEAM PROMPT NEW REPEATS THREADS"""

import json
import os
import shutil
import subprocess
import sys
import time


def make(folder, vocabulary):
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    GPT2LMHeadModel(GPT2Config()).eval().save_pretrained(os.path.join(folder, "hf"))
    for name in ("vocab.json", "merges.txt"):
        shutil.copy(os.path.join(vocabulary, name), os.path.join(folder, "hf"))
    converter = os.path.join(os.path.dirname(sys.executable), "ct2-transformers-converter")
    subprocess.run([converter, "--model", os.path.join(folder, "hf"), "--output_dir", os.path.join(folder, "ct2"),
                    "--force"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def transformers_run(folder, kind, batch, beam, prompt, new, threads):
    import torch
    from transformers import GPT2LMHeadModel

    torch.set_num_threads(threads)
    model = GPT2LMHeadModel.from_pretrained(os.path.join(folder, "hf"), dtype=getattr(torch, kind)).eval()
    ids = torch.randint(0, 50256, (batch, prompt), generator=torch.Generator().manual_seed(1))

    def run(count):
        with torch.inference_mode():
            out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, num_beams=beam,
                                 pad_token_id=50256, min_new_tokens=count, max_new_tokens=count)
        return out.shape[1] - prompt

    return run


def ctranslate2_run(folder, kind, batch, beam, prompt, new, threads):
    import ctranslate2

    generator = ctranslate2.Generator(os.path.join(folder, "ct2"), device="cpu", compute_type=kind,
                                      intra_threads=threads, inter_threads=1)

    def run(count):
        found = generator.generate_batch([["the"] * prompt] * batch, beam_size=beam, min_length=count,
                                         max_length=count, include_prompt_in_result=False, max_batch_size=batch)
        return len(found[0].sequences_ids[0])

    return run


def main(arguments):
    if arguments[:1] == ["make"] and len(arguments) == 3:
        return make(*arguments[1:])
    if arguments[:1] != ["run"] or len(arguments) != 10:
        raise SystemExit(__doc__)
    folder, program, kind = arguments[1:4]
    batch, beam, prompt, new, repeats, threads = (int(word) for word in arguments[4:])
    start = {"transformers": transformers_run, "ctranslate2": ctranslate2_run}[program]
    run = start(folder, kind, batch, beam, prompt, new, threads)
    run(4)
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        count = run(new)
        seconds.append(time.perf_counter() - begin)
        if count != new:
            raise SystemExit(f"{count} tokens instead of {new}")
    print(json.dumps({"run_seconds": seconds}))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
