# SPDX-License-Identifier: Apache-2.0
"""How much the stages of bench/gpu.sh do: as much as measures a device, or, in a dry run, so little that the simulated
device does every stage in a minute."""

import collections
import dataclasses


@dataclasses.dataclass(frozen=True)
class Amounts:
    gpt: tuple = ()  # fields of the jobs that are measured, behind those of their models
    translation: tuple = ()
    translation_pairs: int = 60_000
    translation_steps: int = 40
    translation_warmup: int = 320  # four epochs of 75 shapes: a new one is queued, then captured, then replayed
    jobs: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(tuple))  # fields of the short runs, by job
    smoke_steps: int = 40
    bits_steps: int = 300
    patience: int = 1  # times what a stage may take
    tests: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(lambda: "-HostOnly*"))  # filters, by program


FULL = Amounts()
SMALL = ("model.width=32", "model.heads=2", "model.layers=1")
SHORT = ("evaluation.max_sequences=2", "log.generations.every_steps=0")
DRY = Amounts(gpt=(*SMALL, "batch.context_length=16", "batch.sequences=2", "batch.micro_batch_tokens=32"),
            translation=(*SMALL, "model.encoder_layers=1", "batch.tokens=300"),
            translation_pairs=200, translation_steps=2, translation_warmup=1,
            jobs={"configs/sample/gpt.yaml": (*SMALL, *SHORT, "batch.sequences=2", "batch.context_length=32"),
                  "configs/sample/translation.yaml": (*SMALL, *SHORT, "model.encoder_layers=1", "batch.tokens=200"),
                  "configs/finetune/sample-translate.yaml": (*SHORT, "batch.tokens=200", "batch.buckets_per_step=1")},
            smoke_steps=4, bits_steps=12, patience=20,  # the machine that simulates may have other work
            tests={"operations": "All/Embed.AddingTwice*", "whole steps": "*GiveTheLossAndEveryGradientOfTheCpu/Gpt_1x1_zero0",
                   "steps as graphs": "CudaGraphRun.AReplayedStepAllocatesNothing", "graphs": "CudaGraphs.KeepTheMemory*",
                   "copies": "*", "a library's attention": "*.NothingIsPlannedWithoutALibrary",
                   "NCCL": "*.NeedADeviceWithAQueue", "layouts over NCCL": "*Gpt_2x1*"})
