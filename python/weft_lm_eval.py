#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weft's language models in Eleuther's lm-evaluation-harness (PyPI: lm_eval), without exporting them.

    python3 weft_lm_eval.py --model weft --model_args checkpoint=runs/NAME --tasks hellaswag,lambada_openai

Everything else is as lm_eval's own command has it. model_args: checkpoint (a run or a checkpoint); program (weft, as PATH
finds it); ranks (1; more start under mpirun); device (auto, cpu or cuda). From a program of one's own: import this module, then
lm_eval.simple_evaluate(model="weft", model_args=...).

It asks `weft likelihood` and `weft generate --requests`: all requests of a task at a time, since each call loads the model.
"""

import json
import os
import subprocess
import tempfile

import lm_eval.models  # noqa: F401  registers the harness's own models, which it looks for once
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model

__all__ = ["Weft"]


@register_model("weft")
class Weft(LM):
    def __init__(self, checkpoint, program="weft", ranks=1, device="auto", max_gen_toks=256, **other):
        super().__init__()
        unknown = set(other) - {"batch_size", "max_batch_size"}  # which lm_eval gives every model
        if unknown:
            raise ValueError(f"model_args: {', '.join(sorted(unknown))} is unknown: "
                             "checkpoint, program, ranks, device and max_gen_toks are known")
        self.checkpoint, self.program, self.ranks = checkpoint, program, int(ranks)
        self.where, self.max_gen_toks = device or "auto", int(max_gen_toks)

    def loglikelihood(self, requests):
        answers = self._ask("likelihood", [self._pair(*request.args) for request in requests])
        return [(answer["log_probability"], answer["greedy"]) for answer in answers]

    def loglikelihood_rolling(self, requests):
        answers = self._ask("likelihood", [{"text": request.args[0]} for request in requests])
        return [answer["log_probability"] for answer in answers]

    def generate_until(self, requests):
        asked, options = [], None
        for request in requests:
            prompt, wanted = request.args
            until = wanted.get("until") or []
            asked.append({"prompt": prompt, "stop": [until] if isinstance(until, str) else list(until),
                          "max_tokens": int(wanted.get("max_gen_toks", self.max_gen_toks))})
            chosen = self._search(wanted)
            if options not in (None, chosen):
                raise ValueError("one task asks for several ways to choose tokens")
            options = chosen
        return [answer["text"] for answer in self._ask("generate", asked, options or [])]

    @staticmethod
    def _pair(context, continuation):
        """Blanks between both belong to the continuation, as lm_eval's own models have it."""
        kept = context.rstrip()
        return {"context": kept, "continuation": context[len(kept):] + continuation}

    @staticmethod
    def _search(wanted):
        temperature = float(wanted.get("temperature", 0))
        if not wanted.get("do_sample", temperature > 0) or temperature == 0:
            return ["--search", "method=greedy"]
        options = ["--temperature", str(temperature)]
        for name in ("top_k", "top_p"):
            if name in wanted:
                options += ["--search", f"{name}={wanted[name]}"]
        return options

    def _ask(self, command, requests, options=()):
        if not requests:
            return []
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "requests.jsonl")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(request, ensure_ascii=False) + "\n" for request in requests)
            words = [self.program, command, "--checkpoint", self.checkpoint, "--device", self.where, *options]
            words += ["--requests", path] if command == "generate" else [path]
            if self.ranks > 1 and command == "likelihood":  # one process generates
                words = ["mpirun", "--bind-to", "none", "-np", str(self.ranks), *words]
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}:\n{done.stderr.decode(errors='replace')}")
        answers = [json.loads(line) for line in done.stdout.decode().splitlines()]
        if len(answers) != len(requests):
            raise RuntimeError(f"{' '.join(words)} gave {len(answers)} answers to {len(requests)} requests")
        return answers


if __name__ == "__main__":
    from lm_eval.__main__ import cli_evaluate

    cli_evaluate()
