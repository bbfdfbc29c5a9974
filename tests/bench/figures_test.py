# SPDX-License-Identifier: Apache-2.0
"""bench/cpu/figures.py and bench/table.py on stored raw figures; compare.py with programs that only pretend to measure; and
what bench/results holds."""

import copy
import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "bench", "cpu"), os.path.join(ROOT, "bench")]
sys.dont_write_bytecode = True
import against  # noqa: E402
import cases  # noqa: E402
import compare  # noqa: E402
import decode  # noqa: E402
import figures  # noqa: E402
import result_file  # noqa: E402
import table  # noqa: E402

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "raw_figures.json"), encoding="utf-8") as stored:
    STORED = json.load(stored)


class Figures(unittest.TestCase):
    def setUp(self):
        self.case = figures.summarise(copy.deepcopy(STORED["cases"][0]))

    def test_medians_are_of_all_runs(self):
        case = figures.condensed(self.case)
        self.assertEqual(case["weft"]["tokens_per_second"], {"median": 410.0, "min": 390.0, "max": 425.0, "count": 5})
        self.assertEqual([p["tokens_per_second"]["median"] for p in case["peers"]], [150.0, 160.5])

    def test_the_ratio_is_to_the_fastest_peer(self):
        self.assertEqual(self.case["fastest_peer"], "PyTorch compiled")
        self.assertAlmostEqual(self.case["ratio"], 410 / 160.5)

    def test_the_ceiling_is_the_best_of_all_runs(self):
        self.assertEqual(self.case["ceiling_gflops"], 440.0)
        self.assertAlmostEqual(self.case["ceiling_share"], 330 / 440)

    def test_what_was_not_measured_is_none(self):
        case = figures.summarise({"weft": {"tokens_per_second": [1.0], "gflops": [2.0], "ceiling_gflops": [None]},
                                  "peers": []})
        self.assertEqual((case["ratio"], case["fastest_peer"], case["ceiling_gflops"], case["ceiling_share"]),
                         (None, None, None, None))
        self.assertIsNone(figures.median([]))
        self.assertIsNone(figures.summary([None, None]))
        self.assertEqual(figures.summary([None, 3.0]), {"median": 3.0, "min": 3.0, "max": 3.0, "count": 1})

    def test_near_variants_stay_and_slow_ones_go(self):
        self.assertEqual(figures.worth_repeating({"eager": 100, "compiled": 163}), ["compiled"])
        self.assertEqual(figures.worth_repeating({"eager": 3100, "compiled": 3400}), ["compiled", "eager"])
        self.assertEqual(figures.worth_repeating({"eager": 3400}), ["eager"])
        self.assertEqual(figures.worth_repeating({}), [])


class Decoding(unittest.TestCase):
    def setUp(self):
        ours = [{"run_seconds": [s], "weight_bytes": 500, "read_bandwidth": r} for s, r in ((2.0, 900.0), (1.0, 1000.0), (1.6, 1000.0))]
        theirs = [{"run_seconds": [4.0]}, {"run_seconds": [5.0]}]
        self.case = figures.summarise_decoding({"case": "batch 4", "batch": 4, "beam": 1,
                                                "programs": {"weft fp32": ours, "peer": theirs}}, 8)

    def test_rates_are_new_tokens_of_all_texts(self):
        self.assertEqual(self.case["programs"]["weft fp32"]["tokens_per_second"], [16.0, 32.0, 20.0])
        self.assertEqual(self.case["programs"]["peer"]["tokens_per_second"], [8.0, 6.4])

    def test_the_share_is_of_the_best_bandwidth_for_each_position(self):
        self.assertEqual(self.case["read_bandwidth"], 1000.0)
        self.assertEqual(self.case["programs"]["weft fp32"]["bandwidth_share"], 2.5)  # 500 bytes x 20 / 4 texts / 1000
        self.assertIsNone(self.case["programs"]["peer"]["bandwidth_share"])

    def test_it_has_a_table(self):
        result = {"name": "n", "date": "2026-01-01T00:00:00Z", "machine": {"processor": "P", "processors": 2}, "threads": 2,
                  "versions": {"commit": "c" * 40, "changed": False, "torch": "2"}, "model": "m", "prompt": 4,
                  "new_tokens": 8, "repeats": 3, "load_before": 0, "decoding": [self.case]}
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "r.json"), "w", encoding="utf-8") as out:
                json.dump(figures.condensed(result), out)
            text = table.table(folder)
        self.assertIn("| weft fp32 | 20.0 (250 %) |\n| peer | 7.2 |\n", text)
        self.assertIn("torch 2", text)


class Pairs(unittest.TestCase):
    def test_the_ratio_is_of_runs_side_by_side(self):
        # The machine gets slower by half: the medians say so, the pairs do not.
        case = figures.compare_pairs({"new": [100.0, 90.0, 50.0], "old": [100.0, 100.0, 40.0]})
        self.assertEqual((figures.median(case["new"]), figures.median(case["old"])), (90.0, 100.0))
        self.assertEqual(figures.summary(case["ratios"]), {"median": 1.0, "min": 0.9, "max": 1.25, "count": 3})
        self.assertFalse(case["slower"])

    def test_slower_is_more_than_two_percent_and_the_spread(self):
        def slower(*new):
            return figures.compare_pairs({"new": list(new), "old": [100.0] * len(new)})["slower"]

        self.assertFalse(slower(98.1, 98.1, 98.1))  # within the tolerance
        self.assertTrue(slower(97.9, 97.9, 97.9))
        self.assertTrue(slower(96.0, 97.0, 98.0))  # 3 % with a spread of 1 %
        self.assertFalse(slower(92.0, 97.0, 99.0))  # 3 % with a spread of 3.5 %
        self.assertFalse(slower(110.0, 120.0, 130.0))

    def test_every_run_has_its_pair(self):
        with self.assertRaises(ValueError):
            figures.compare_pairs({"new": [1.0, 2.0], "old": [1.0]})


class Table(unittest.TestCase):
    def setUp(self):
        self.result = copy.deepcopy(STORED)
        for case in self.result["cases"]:
            figures.summarise(case)
        self.result = figures.condensed(self.result)

    def test_a_row_has_every_figure(self):
        self.assertEqual(table.row(self.result["cases"][0]),
                         "| gpt2-124m | fp32 | 410 | 160 (PyTorch compiled) | 2.55 | 330 | 440 | 75 % |\n")

    def test_what_is_not_known_is_said(self):
        self.assertIn("| 1 | n/a | n/a | 2 | n/a | n/a |", table.row(self.result["cases"][1]))

    def test_the_section_names_machine_commit_and_versions(self):
        text = table.section(self.result)
        for word in ("A Processor", "2 processors", "0123456789ab with changes", "PyTorch 2.15", "oneDNN 2.6.3"):
            self.assertIn(word, text)

    def test_the_headline_is_the_latest_comparison_with_pytorch(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(table.headline(folder), "No record yet.\n")
            older = {**copy.deepcopy(self.result), "date": "2001-01-01"}
            older["cases"][0]["ratio"] = 9.0
            for name, result in (("older", older), ("newer", self.result)):
                with open(os.path.join(folder, f"{name}.json"), "w", encoding="utf-8") as out:
                    json.dump(result, out)
            text = table.headline(folder)
            for words in ("2 processors (A Processor)", "GPT-2 124M in fp32 at 410 tokens/s", "**2.55 times**", "PyTorch compiled",
                          "160 tokens/s", "commit 0123456"):
                self.assertIn(words, text)

    def test_only_what_is_between_the_markers_changes(self):
        page = f"above\n{table.BEGIN.format('')}\nold\n{table.END.format('')}\nbelow\n"
        new = table.replaced(page, "new\n")
        self.assertEqual(new, f"above\n{table.BEGIN.format('')}\nnew\n{table.END.format('')}\nbelow\n")
        self.assertEqual(table.replaced(new, "new\n"), new)
        with self.assertRaises(SystemExit):
            table.replaced("no markers", "new")

    def test_the_parity_table_has_the_worst_of_each_layout(self):
        def cell(name, loss, passed=True):
            return {"cell": name, "passed": passed, "first": "1.0e-09", "loss": loss, "norm": "3.0e-05"}

        record = {"commit": "abc", "command": "bench/parity.sh", "machine": "A Processor", "steps": 50,
                  "cells": [cell("Gpt_2x1_zero0", "1.0e-06"), cell("Seq2Seq_2x1_zero1", "2.0e-06", passed=False),
                            cell("GptBf16_2x1_zero1", "4.0e-03")]}
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(table.parity_table(folder), "No record yet.\n")
            for name, result in (("parity", record), ("timings", self.result)):
                with open(os.path.join(folder, f"{name}.json"), "w", encoding="utf-8") as out:
                    json.dump(result, out)
            text = table.parity_table(folder)
            self.assertIn("2 of 3 cells passed, 50 steps each", text)
            self.assertIn("| 2 x 1 | 2 | 1.0e-09 | 2.0e-06 | 3.0e-05 | 1 | 1.0e-09 | 4.0e-03 | 3.0e-05 |\n", text)
            self.assertIn("gpt2-124m", table.table(folder))

    def test_the_pages_are_up_to_date(self):
        self.assertEqual(table.main(["--check"]), 0, "run bench/table.py")


def raw_series(value, where=""):
    """Where a result holds what single runs measured, or None: outputs of programs, or a list of numbers. Bytes that each
    rank sends (sent_mib) are not measurements of one thing."""
    if figures.is_series(value) and not where.endswith(".sent_mib"):
        return where
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, dict) and "runs" in value:
        return f"{where}.runs"
    return next((found for key, member in members if (found := raw_series(member, f"{where}.{key}"))), None)


class Results(unittest.TestCase):
    def files(self):
        paths = glob.glob(os.path.join(ROOT, "bench", "results", "*.json"))
        self.assertTrue(paths)
        for path in paths:
            with open(path, encoding="utf-8") as text:
                yield os.path.basename(path), text.read()

    def test_a_raw_series_is_found(self):
        self.assertEqual(raw_series({"cases": [{"weft": {"gflops": [1.0, None]}}]}), ".cases.0.weft.gflops")
        self.assertEqual(raw_series({"cases": [{"runs": []}]}), ".cases.0.runs")
        self.assertIsNone(raw_series({"isa": ["avx2"], "peers": [], "rows": [{"ms": 1.5, "sent_mib": [64.0, 64.0]}]}))
        self.assertEqual(raw_series(STORED), ".cases.0.weft.runs")
        self.assertIsNone(raw_series(figures.condensed(STORED)))

    def test_no_file_holds_a_raw_series(self):
        for name, text in self.files():
            self.assertIsNone(raw_series(json.loads(text)), name)

    def test_every_row_is_a_line(self):
        for name, text in self.files():
            result = json.loads(text)
            if "stage" not in result:  # a shell script writes those with a stage
                self.assertEqual(text, result_file.laid_out(result) + "\n", name)

    def test_a_layout_has_a_line_for_each_member_and_row(self):
        result = {"a": 1, "b": {"c": [1, 2]}, "d": {"e": [{"f": {"g": 2}}, {"f": None}]}}
        self.assertEqual(result_file.laid_out(result), """{
 "a": 1,
 "b": {"c": [1, 2]},
 "d": {
  "e": [
   {"f": {"g": 2}},
   {"f": null}
  ]
 }
}""")


# A program that prints its version, or writes the figures of `weft bench` with the rate that the file beside it holds.
PRETENDER = """#!/bin/sh
[ "$1" = --version ] && echo 'weft 9' && echo 'git revision  old1234' && exit
echo "$@" >>"$0.log"
while [ "$1" != --json ]; do shift; done
echo "{\\"median_tokens_per_second\\": $(cat "$0.rate")}" >"$2"
"""


class Against(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name, rate in (("new", 96.0), ("old", 100.0)):
            for path, text in ((name, PRETENDER), (f"{name}.rate", str(rate))):
                with open(self.path(path), "w", encoding="utf-8") as out:
                    out.write(text)
            os.chmod(self.path(name), 0o755)

    def path(self, name):
        return os.path.join(self.folder, name)

    def compare(self, *arguments):
        program = os.path.join(ROOT, "bench", "cpu", "compare.py")
        return subprocess.run([sys.executable, "-B", program, "--weft", self.path("new"), "--cases", "char",
                               "--precisions", "fp32", "--out", self.path("out.json"), "--raw", self.path("raw.json"),
                               *arguments],
                              capture_output=True, text=True)

    def lines(self, name):
        with open(self.path(name), encoding="utf-8") as text:
            return text.read().splitlines()

    def test_nine_pairs_of_the_same_steps(self):
        done = self.compare("--against", self.path("old"))
        self.assertEqual(done.returncode, 1, done.stderr)  # slower
        self.assertIn("new / old 0.960 (0.960 to 0.960): slower", done.stdout)
        self.assertEqual(self.lines("new.log"), self.lines("old.log"))
        self.assertEqual(len(self.lines("new.log")), 9)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as text:
            return json.load(text)

    def test_the_result_has_commit_machine_command_and_medians(self):
        self.compare("--against", self.path("old"), "--repeats", "3")
        result = self.read("out.json")
        self.assertTrue(result["versions"]["commit"] and result["machine"]["processor"])
        self.assertIn("bench/cpu/compare.py --weft new --cases char", result["command"])
        case = result["pairs"][0]
        self.assertEqual((case["new"]["median"], case["old"]["median"], case["old"]["count"]), (96.0, 100.0, 3))
        self.assertNotIn(self.folder, json.dumps(result))
        self.assertIsNone(raw_series(result))
        text = table.pairs_section(result)
        self.assertIn("against old1234 (old); 3 alternating pairs", text)
        self.assertIn("| char | fp32 | 96 | 100 | 0.960 | 0.960 | 0.960 | yes |", text)

    def test_what_each_run_measured_lies_beside(self):
        self.compare("--against", self.path("old"), "--repeats", "3")
        case = self.read("raw.json")["pairs"][0]
        self.assertEqual((case["new"], case["old"]), ([96.0] * 3, [100.0] * 3))
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(result_file, "ROOT", folder):
            result_file.ResultFile("a").keep({"seconds": [1.0, 2.0, 4.0]})
            with open(os.path.join(folder, "build", "raw", "a.json"), encoding="utf-8") as text:
                self.assertEqual(json.load(text), {"seconds": [1.0, 2.0, 4.0]})

    def test_an_old_program_may_have_a_job_of_its_own(self):
        options = ("--against", self.path("old"), "--against-jobs", self.folder, "--repeats", "1")
        self.assertIn("no char.yaml", self.compare(*options).stderr)
        with open(self.path("char.yaml"), "w", encoding="utf-8") as out:
            out.write("name: char\n")
        with open(self.path("new.rate"), "w", encoding="utf-8") as out:
            out.write("99")
        done = self.compare(*options)
        self.assertEqual(done.returncode, 0, done.stderr)
        new, old = self.lines("new.log")[-1], self.lines("old.log")[-1]
        self.assertIn("--model char", new)
        self.assertIn("model.bias=true", new)
        self.assertIn(self.path("char.yaml"), old)
        self.assertNotIn("model.bias", old)
        for words in (new, old):
            self.assertIn("--vocabulary 65", words)
            self.assertIn("--set train.precision=fp32", words)

    def test_programs_take_turns_at_being_first(self):
        turns = []

        def run(case, precision, launcher, options, scratch, weft):
            turns.append(os.path.basename(weft))
            return {case.weft_rate: 1.0}

        options = compare.parse(["--weft", "new", "--against", "old", "--repeats", "3", "--cases", "char"])
        with mock.patch.object(compare, "run_weft", run), mock.patch.object(compare, "say"):
            against.measure("char", "fp32", options, self.folder)
        self.assertEqual(turns, ["new", "old", "old", "new", "new", "old"])

    def test_what_is_no_program_is_refused(self):
        done = self.compare("--against", self.path("nothing"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--version prints nothing", done.stderr)
        self.assertEqual(self.compare("--against-jobs", self.folder).returncode, 2)


# Enough of PyTorch to read a peer's arguments.
NO_TORCH = """
import sys, types
nn, functional = types.ModuleType("torch.nn"), types.ModuleType("torch.nn.functional")
nn.Module, nn.functional = object, functional
sys.modules.update({"torch.nn": nn, "torch.nn.functional": functional})
get_num_threads = lambda: 1
"""


class Commands(unittest.TestCase):
    def compare(self, *arguments):
        program = os.path.join(ROOT, "bench", "cpu", "compare.py")
        return subprocess.run([sys.executable, "-B", program, *arguments], capture_output=True, text=True)

    def test_help_names_every_option(self):
        done = self.compare("--help")
        self.assertEqual(done.returncode, 0)
        for option in ("--peers", "--python", "--raw", "--weft", "--repeats", "--threads", "--micro-batch", "--name", "--cases",
                       "--against", "--against-jobs", "--layout"):
            self.assertIn(option, done.stdout)

    def test_unknown_cases_are_refused(self):
        done = self.compare("--cases", "gpt2-124m,gpt5")
        self.assertEqual(done.returncode, 2)
        self.assertIn("gpt5; known: gpt2-124m, llama-124m, transformer-tiny, char", done.stderr)

    def test_older_programs_are_not_asked_for_models_that_they_do_not_know(self):
        self.assertEqual(compare.parse([]).cases, list(cases.CASES))
        self.assertEqual(compare.parse(["--against", "old"]).cases, ["gpt2-124m", "transformer-tiny", "char"])
        self.assertEqual(compare.parse(["--against", "old", "--cases", "llama-124m"]).cases, ["llama-124m"])

    def test_python_without_torch_is_refused(self):
        done = self.compare("--python", "/nonexistent/python", "--cases", "char")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("cannot import torch", done.stderr)

    def test_both_programs_get_the_same_shapes(self):
        options = compare.parse(["--micro-batch", "4", "--threads", "2", "--steps", "7"])
        for name in ("gpt2-124m", "llama-124m"):
            case = cases.make_case(name, options, "")
            self.assertEqual(case.weft[:3], ["bench", "--model", name])
            self.assertIn("batch.sequences=4", case.weft)
            self.assertEqual(case.peer[case.peer.index("--sequences") + 1], "4")
            self.assertFalse(case.may_use_ranks)
            for words in (case.weft, case.peer):
                self.assertEqual(words[words.index("--steps") + 1], "7")
                self.assertEqual(words[words.index("--vocabulary") + 1], "50304")

    def test_peers_know_the_options_that_they_are_given(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "torch.py"), "w", encoding="utf-8") as out:
                out.write(NO_TORCH)
            options = compare.parse(["--micro-batch", "3", "--threads", "2", "--steps", "7"])
            with mock.patch.object(cases, "find_text"), mock.patch.object(cases, "write_lengths", return_value="l.txt"):
                translation = cases.transformer_tiny(options, folder)
            language = {"sequences": 3, "context": 1024, "vocabulary": 50304, "window": 0}
            for case, expected in ((cases.gpt2(options), {**language, "blocks": "gpt2"}),
                                   (cases.llama(options), {**language, "blocks": "llama"}),
                                   (cases.char(options), {"sequences": 12, "context": 64, "width": 128, "heads": 4}),
                                   (translation, {"lengths": "l.txt", "vocabulary": 9712, "budget": 4096, "warmup": 8})):
                parsed = self.parsed([*case.peer, "--precision", "bf16", "--compile"], folder)
                expected.update(steps=7, threads=2, precision="bf16", compile=True)
                self.assertEqual({key: parsed[key] for key in expected}, expected)

    def test_the_decoding_peer_knows_the_options_that_it_is_given(self):
        options = decode.parse(["--threads", "2", "--prompt", "5", "--new", "6"])
        with mock.patch.object(compare, "run", return_value="{}") as run:
            decode.run_peer("CTranslate2 int8", 8, 5, options, "scratch")
        _, script, *words = run.call_args[0][0]
        parsed = self.parsed([os.path.basename(script), *words], "")
        expected = {"folder": "scratch", "program": "ctranslate2", "type": "int8", "batch": 8, "beam": 5, "prompt": 5,
                    "new": 6, "threads": 2}
        self.assertEqual({key: parsed[key] for key in expected}, expected)

    def parsed(self, words, torch):
        """The options that a script of bench/peers reads from its arguments; torch: a folder with the modules to import."""
        script, *words = words
        program = (f"import json, sys; sys.path[:0] = {[torch, cases.PEERS]!r}; import {script[:-3]} as peer; "
                   "print(json.dumps(vars(peer.parse()), default=str))")
        done = subprocess.run([sys.executable, "-B", "-c", program, *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_results_are_written_whole_into_a_new_folder(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "results", "a.json")
            result_file.write(path, STORED)
            with open(path, encoding="utf-8") as written:
                self.assertEqual(json.load(written), STORED)
            self.assertEqual(os.listdir(os.path.dirname(path)), ["a.json"])

    def test_folders_of_the_machine_are_left_out(self):
        self.assertEqual(compare.without_folders("File '/tmp/x/peer.py', line 3"), "File 'peer.py', line 3")


if __name__ == "__main__":
    unittest.main()
