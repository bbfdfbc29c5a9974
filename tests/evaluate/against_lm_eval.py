#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what lm-evaluation-harness finds of a model through weft with what it finds of the exported model in transformers.

    pip install lm_eval==0.4.13 transformers==5.23.0 torch==2.15.0
    python3 tests/evaluate/against_lm_eval.py build/cpu/weft

A small model is trained on the sample corpus and exported. Tasks of all four kinds are made from held-out sentences, so
nothing is downloaded: endings to choose from, a last word, whole texts, texts to continue. Every figure must be equal, and
log-probabilities of single requests close.
"""
import gzip
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import lm_eval  # noqa: E402
import weft_lm_eval  # noqa: E402, F401  registers the model

program = os.path.abspath(sys.argv[1])
JOB = """
name: small
run_dir: {folder}/run
data: {{directory: {folder}/data, document_delimiter: line, train: {{files: [{folder}/train.txt]}}}}
tokenizer: {{kind: bpe, vocabulary: 600, specials: [</s>], eos: </s>}}
model: {{layers: 2, width: 64, heads: 4, max_length: 64}}
batch: {{sequences: 16}}
schedule: {{learning_rate: 3e-3, warmup_steps: 20}}
train: {{max_steps: 200}}
"""
TASKS = {
    "choice": """
output_type: multiple_choice
doc_to_text: "{{context}}"
doc_to_target: label
doc_to_choice: endings
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}, {metric: acc_norm, aggregation: mean, higher_is_better: true}]
""",
    "word": """
output_type: loglikelihood
doc_to_text: "{{context}}"
doc_to_target: " {{word}}"
metric_list: [{metric: perplexity, aggregation: perplexity, higher_is_better: false}, {metric: acc, aggregation: mean, higher_is_better: true}]
""",
    "text": """
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{text}}"
metric_list: [{metric: word_perplexity}, {metric: byte_perplexity}]
""",
    "continue": """
output_type: generate_until
doc_to_text: "{{context}}"
doc_to_target: " {{word}}"
generation_kwargs: {until: [".", "!"], max_gen_toks: 8, do_sample: false}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
""",
}


def sentences(name):
    text = gzip.decompress((ROOT / "configs/sample" / f"{name}.tsv.gz").read_bytes()).decode()
    return [line.split("\t")[0] for line in text.splitlines()]


def write_tasks(folder):
    pick = random.Random(5)
    held_out = [s for s in sentences("test") if len(s.split()) > 4][:150]
    rows = {name: [] for name in TASKS}
    for sentence in held_out:
        words = sentence.rstrip(".!?").split()
        context, word = " ".join(words[:-1]), words[-1]
        others = [s.rstrip(".!?").split()[-1] for s in pick.sample(held_out, 3)]
        endings = [f" {w}." for w in (word, *others)]
        order = pick.sample(range(4), 4)
        # Some contexts end with blanks, and some are empty.
        rows["choice"].append({"context": context + pick.choice(["", "", " "]), "endings": [endings[i] for i in order],
                               "label": order.index(0)})
        rows["word"].append({"context": pick.choice([context, context, ""]), "word": word})
        rows["continue"].append({"context": context, "word": word})
    for i in range(0, 120, 12):
        rows["text"].append({"text": " ".join(held_out[i:i + pick.randint(1, 12)])})
    (folder / "tasks").mkdir()
    for name, form in TASKS.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[name]))
        (folder / "tasks" / f"{name}.yaml").write_text(
            f"task: weft_{name}\ndataset_path: json\nvalidation_split: validation\n"
            f"dataset_kwargs: {{data_files: {{validation: {folder}/{name}.jsonl}}}}{form}")


def evaluate(folder, model, arguments):
    found = lm_eval.simple_evaluate(model=model, model_args=arguments, tasks=[f"weft_{name}" for name in TASKS],
                                    task_manager=lm_eval.tasks.TaskManager(include_path=str(folder / "tasks")),
                                    log_samples=True, bootstrap_iters=0, verbosity="ERROR")
    figures = {task: {k: v for k, v in values.items() if isinstance(v, float) and "stderr" not in k}
               for task, values in found["results"].items()}
    answers = {task: [sample["resps"] for sample in sorted(samples, key=lambda s: s["doc_id"])]
               for task, samples in found["samples"].items()}
    return figures, answers


def numbers(answers):
    """All numbers in an answer, and the texts and truth values beside them."""
    flat, others = [], []

    def walk(value):
        if isinstance(value, (list, tuple)):
            for item in value:
                walk(item)
        elif isinstance(value, float):
            flat.append(value)
        else:
            others.append(value)
    walk(answers)
    return flat, others


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "train.txt").write_text("\n".join(sentences("train")[:6000]) + "\n")
        (folder / "job.yaml").write_text(JOB.format(folder=folder))
        for words in (("prepare", "job.yaml"), ("train", "job.yaml"), ("export-hf", "run", "exported")):
            subprocess.run([program, words[0], *(str(folder / word) for word in words[1:])], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        write_tasks(folder)
        ours, our_answers = evaluate(folder, "weft", {"checkpoint": str(folder / "run"), "program": program})
        theirs, their_answers = evaluate(folder, "hf", {"pretrained": str(folder / "exported"), "device": "cpu",
                                                        "dtype": "float32"})
        wrong = 0
        for task in theirs:
            for name, value in theirs[task].items():
                equal = abs(ours[task][name] - value) <= 1e-4 * abs(value)
                print(f"{task} {name}: {ours[task][name]:.6f}, in transformers {value:.6f}")
                wrong += not equal
            (a, texts), (b, other_texts) = numbers(our_answers[task]), numbers(their_answers[task])
            furthest = max((abs(x - y) for x, y in zip(a, b, strict=True)), default=0)
            differing = sum(x != y for x, y in zip(texts, other_texts, strict=True))
            print(f"{task}: {len(a)} log-probabilities, the furthest {furthest:.1e} apart; {differing} of {len(texts)} "
                  "texts and truth values differ")
            wrong += furthest > 1e-3 or differing > 0
        print("lm_eval finds the same through weft" if not wrong else f"{wrong} figures differ")
        sys.exit(1 if wrong else 0)


main()
