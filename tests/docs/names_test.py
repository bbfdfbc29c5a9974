# SPDX-License-Identifier: Apache-2.0
"""names.py and status.py find the mistakes they look for, in a small tree with a weft that only pretends."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import names
import status

TREE = {
    ".gitignore": "/build*/\n/sample/\n",
    "CMakePresets.json": '{"configurePresets": [{"name": "base", "hidden": true}, {"name": "cpu"}]}',
    "base/error.h": "class ConfigError;\nenum class ExitCode { Done };\nvoid fail_with(ExitCode code);\n",
    "job/checks.cpp": "void check_model(const JobConfig& job) { fail_with(ExitCode::Done); }\n",
    "job/job.cpp": "struct JobConfig {};\n",
    "job/renamed_keys.cpp": '{"model.init_deviation", "model.init_std"}',
    "launch/test.sh": "all=(seeds nccl)\ncase $1 in --long) ;; esac\n",
    "configs/sample/gpt.yaml": "data: {files: [corpora/a.txt]}\n",
    "bench/results/long-nccl.json": '{"commits": ["0123456789ab", "89abcdef0123"], "said": "all"}',
    "bench/results/long-seeds.json": '{"commit": "0123456789ab", "said": "76 of 76 caught"}',
    "tests/job/CMakeLists.txt": "weft_test(job_test ROOM job LABEL unit\n  SOURCES\n    docs_test.cpp)\n"
                                "foreach(case data kill)\n  add_test(NAME launch.watch.${case} COMMAND x)\nendforeach()\n"
                                "weft_test(gpu_test ROOM job LABEL cuda CUDA SOURCES gpu_test.cpp)\n",
    "tests/job/docs_test.cpp": "TEST(JobDocs, TheTableIsRight) {}\nTEST_P(Parity, Layouts) {}\n"
                               "INSTANTIATE_TEST_SUITE_P(Covering, Parity, cases());\n",
    "tests/job/gpu_test.cpp": "TEST(CudaRun, Trains) {}\n",
    "docs/other.md": "# Other\n\n## While a model learns\n",
    "README.md": "# weft\n",
}
WEFT = """#!/bin/sh
case "$*" in
  --help) printf 'weft\\n\\nCommands for all:\\n  train    Trains.\\n  keys     Lists.\\n  search   Finds.\\n' ;;
  keys) printf '  name = job  (text)\\n\\nmodel: The model.\\n  model.width = 8  (an integer)\\n  model.init_std = 1  (a number)\\n'
    printf '  model.norm_placement = pre  (one of pre, post)\\n' ;;
  "search --help") printf '  --search KEY=VALUE\\nFields of --search:\\n  n_best = 1  (an integer)\\n      How many.\\n' ;;
  *) printf '  --set KEY=VALUE\\n  --json\\n' ;;
esac
"""


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "tree"
        for name, text in TREE.items():
            self.write(name, text)
        self.weft = self.root.parent / "weft"
        self.weft.write_text(WEFT)
        self.weft.chmod(0o755)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def says(self, call, *arguments):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = call(str(self.root), *arguments)
        return code, output.getvalue()


class Names(Tree):
    def right(self, page):
        self.write("docs/page.md", page)
        self.assertEqual(self.says(names.main, str(self.weft)), (0, "3 pages name what exists\n"))

    def wrong(self, page, line, text):
        self.write("docs/page.md", page)
        self.assertEqual(self.says(names.main, str(self.weft)), (1, f"docs/page.md:{line}: {text}\n{names.HINT}\n"))

    def test_what_is_there(self):
        self.right("See `base/error.h`, `base/*.h`, `error.h` and `base/NAME.h`; `ConfigError`, `ExitCode::Done`, `fail_with()`.\n")
        self.right("`model.width`, `norm_placement: post`, `--set model.width=4`, `n_best: 2` and\n`weft train --json` are known.\n")
        self.right("It was written by `old/program/` and\n`weft fly` at commit 0123456.\n")
        self.right("A patch has a line `Test: TARGET FILTER`.\n")
        self.right("`job.yaml: model.init_deviation was renamed: write model.init_std`\n")

    def test_paths(self):
        self.wrong("one\ntwo `base/nothing.h`\n", 2, "there is no base/nothing.h")
        self.wrong("`nothing_export.h`\n", 1, "there is no nothing_export.h")
        self.wrong("`nothing/NAME.h` and `base/inner/NAME.h`\n", 1, "there is no base/inner")
        self.wrong("`../shared/peers`\n", 1, "../shared/peers is no part of weft's sources")

    def test_keys_and_values(self):
        self.wrong("`model.widht`\n", 1, "a job has no key 'model.widht'")
        self.wrong("`norm: pre`\n", 1, "a job has no key 'norm'")
        self.wrong("`norm_placement: before`\n", 1, "norm_placement is never 'before'; it is one of post, pre")
        self.wrong("`--set model.norm=pre`\n", 1, "a job has no key 'model.norm'")

    def test_identifiers(self):
        self.wrong("a span `that\ncalls shard_ids()`\n", 1, "'shard_ids' does not occur in weft's sources")
        self.wrong("`init_deviation`\n", 1, "'init_deviation' does not occur in weft's sources")
        self.wrong("`ExitCode::Gone`\n", 1, "'Gone' does not occur in weft's sources")
        self.wrong("`NoSuchThing`\n", 1, "'NoSuchThing' does not occur in weft's sources")
        self.wrong("`--no-such`\n", 1, "nothing has an option --no-such")

    def test_names_beside_their_file(self):
        self.right("`check_model` (`job/checks.cpp`)\n")
        self.wrong("`check_model` (`job/job.cpp`)\n", 1, "'check_model' does not occur in job/job.cpp")
        table = "| file | what goes in |\n|---|---|\n| `job/%s.cpp` | a check in `check_model` of `init_std` |\n"
        self.right(table % "checks")
        self.right((table % "job").replace(" |\n", " (`job/checks.cpp`) |\n"))
        self.wrong(table % "job", 3, "'check_model' does not occur in job/job.cpp")

    def test_tests(self):
        self.right("`job_test JobDocs.*`, `job_test Covering/Parity.*/Gpt_1x2` and `ctest -R JobDocs`, `ctest -L unit`\n")
        self.right("`ctest -R launch.watch.kill`\n")
        self.wrong("`job_test NoSuite.*`\n", 1, "job_test has no test 'NoSuite.*'")
        self.wrong("`ctest -R launch.watch.stop`\n", 1, "there is no test of ctest's that 'launch.watch.stop' matches")
        self.wrong("`ctest -L nothing`\n", 1, "there is no label of tests 'nothing'")

    def test_blocks_that_are_not_run(self):
        def block(text):
            return f"<!-- not run: it needs an hour of time -->\n```sh\n{text}\n```\n"

        self.right(block("build/cpu/tests/job/job_test --gtest_filter='JobDocs.*' && ./launch/test.sh --long"))
        self.right(block("mpirun -np 2 weft train configs/sample/gpt.yaml \\\n  --set model.width=8"))
        self.right(block("curl https://example.org/a | gzip > corpora/b\ncat corpora/a.txt"))
        self.write("tests/public_data.txt", "# sha256, path, address\n0 a/b.gz https://known.org/at/b.en gzip\n")
        self.right(block("curl https://known.org/at/b.en https://other.org/c > b\nweft train job.yaml"))
        self.right(block("curl https://known.org/at/$file.en > b\nweft train job.yaml"))
        unknown = "tests/public_data.txt, which knows this host, has no https://known.org/"
        self.wrong(block("weft train job.yaml\ncurl https://known.org/at/b > b"), 4, unknown + "at/b")
        self.wrong(block("weft train job.yaml\ncurl https://known.org/main/$file.en > b"), 4, unknown + "main/$file.en")
        self.wrong(block("build/cpu/tests/job/job_test --gtest_filter='No.*'"), 3, "job_test has no test 'No.*'")
        self.wrong(block("build/cpu/tests/other/job_test"), 3, "nothing builds build/cpu/tests/other/job_test")
        self.wrong(block("cmake --preset other"), 3, "there is no preset 'other'")
        self.wrong(block("cmake --build build/cpu --target other"), 3, "there is no target 'other'")
        self.wrong(block("true\nweft fly"), 4, "weft has no command 'fly'")
        self.wrong(block("weft train job.yaml --fast"), 3, "weft train has no option --fast")
        self.wrong(block("weft train job.yaml \\\n  --set model.norm=1"), 3, "a job has no key 'model.norm'")
        self.wrong(block("./launch/other.sh"), 3, "there is no launch/other.sh")
        self.wrong(block("./launch/test.sh --short"), 3, "launch/test.sh has no option --short")
        self.wrong(block("weft train configs/sample/none.yaml"), 3, "there is no configs/sample/none.yaml")
        self.wrong(block("python3 -c '\nprint()'"), 2, "this block is not run and names nothing that could be checked: "
                                                   "no command, script, test or key of weft's")

    def test_tables(self):
        self.wrong("| a | b |\n|---|---|\n| c | d |\n\n| e | f |\n", 5,
                   "this table has no header row; is there an empty line inside a table?")
        rows = "<!-- rows: launch/test.sh ^all=\\((.*)\\) -->\n| part | |\n|---|---|\n| `seeds` | |\n"
        self.wrong(rows, 2, "this table lacks 'nccl', which launch/test.sh lists")
        self.right(rows + "| `nccl` | |\n")
        self.wrong(rows + "| `nccl` | |\n| `kills` | |\n", 2, "this table has 'kills', which launch/test.sh does not list")

    def test_figures_links_and_results(self):
        self.wrong("printed: 71.3/47.9\n\n`71.2/48.0` are precisions\n", 3,
                   "'71.2/48.0' is explained here, but appears nowhere else on this page")
        self.right("printed: 71.3/47.9\n\n`71.3/47.9` are precisions; [more](other.md#while-a-model-learns)\n")
        self.wrong("[that](nowhere.md)\n", 1, "the link to nowhere.md leads nowhere")
        self.wrong("[that](other.md#when)\n", 1, "the link to other.md#when: docs/other.md has no such heading")
        result = "At commit %s [all %d were caught](../bench/results/long-seeds.json).\n"
        self.right(result % ("0123456", 76))
        self.wrong(result % ("7654321", 76), 1, "../bench/results/long-seeds.json is not of commit 7654321")
        parts = "At commits %s [all of it](../bench/results/long-nccl.json).\n"
        self.right(parts % "0123456 and 89abcde")
        self.wrong(parts % "0123456", 1, "../bench/results/long-nccl.json is also of commit 89abcdef0123")
        self.wrong(result % ("0123456", 26), 1, "../bench/results/long-seeds.json says '76 of 76 caught', not 'all 26 were caught'")


class Status(Tree):
    PAGE = f"# weft\n{status.BEGIN}{status.END}\nend\n"

    def rows(self, *rows):
        self.write("docs/status.tsv", "# A comment\n" + "".join(row + "\n" for row in rows))

    def wrong(self, row, text):
        self.rows(row)
        self.write("README.md", self.PAGE)
        code, output = self.says(status.main)
        self.assertEqual((code, output), (1, text + "\n"))

    def test_the_table_is_written_and_held(self):
        self.rows("CPUs\tproven\tJobDocs Covering/Parity\ta remark", "Wings\tnot yet\t\t")
        self.write("README.md", self.PAGE)
        self.assertEqual(self.says(status.main, "--check")[0], 1)
        self.assertEqual(self.says(status.main), (0, "2 rows, each with its tests\n"))
        self.assertIn("| CPUs | **proven** | `JobDocs`<br>`Covering/Parity` | a remark |\n", (self.root / "README.md").read_text())
        self.assertEqual(self.says(status.main, "--check")[0], 0)
        self.rows("CPUs\tnot yet\t\t")
        code, output = self.says(status.main, "--check")
        self.assertEqual((code, output), (1, "README.md: its table is not that of docs/status.tsv; write it with tests/docs/status.py .\n"))

    def test_rows_that_nothing_proves(self):
        self.wrong("CPUs\tproven\tNoTest\t", "docs/status.tsv:2: CPUs: NoTest: there is no such test or result")
        self.wrong("CPUs\tproven\t\t", "docs/status.tsv:2: CPUs: it is called proven, and no test is named")
        self.wrong("GPU\tproven\tcuda.CudaRun\t",
                   "docs/status.tsv:2: GPU: its tests run on simulated devices or hosts alone: it is not proven")
        self.wrong("CPUs\tperhaps\tJobDocs\t",
                   "docs/status.tsv:2: CPUs: 'perhaps' is no state; it is one of proven, simulated only, not yet")
        self.wrong("GPU\tproven\tcuda.CudaRun bench/results/gpu.json\t",
                   "docs/status.tsv:2: GPU: bench/results/gpu.json: there is no such test or result\n"
                   "docs/status.tsv:2: GPU: its tests run on simulated devices or hosts alone: it is not proven")
        self.rows("GPU\tproven\tcuda.CudaRun bench/results/long-seeds.json\t")
        self.assertEqual(self.says(status.main)[0], 0)


if __name__ == "__main__":
    unittest.main()
