#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""keep.py keeps the parts of a stage together, and run.sh refuses parts that cannot be."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent


class Keep(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.scratch = pathlib.Path(self.folder.name)
        self.file = self.scratch / "long-fuzz.json"

    def tearDown(self):
        self.folder.cleanup()

    def keep(self, part, commit, found, verdict="passed", log="none of which breaks anything"):
        (self.scratch / "log").write_text(f"one\n{log}\n")
        (self.scratch / "found").write_text(found)
        subprocess.run([sys.executable, "-B", HERE / "keep.py", self.file, "fuzz", part, verdict, "60", commit,
                        self.scratch], check=True)
        return json.loads(self.file.read_text())

    def test_a_whole_stage_is_one_part(self):
        kept = self.keep("1/1", "aaa", "yaml 5\nseconds_each 600s\n")
        self.assertEqual((kept["verdict"], kept["commits"], kept["seconds"]), ("passed", ["aaa"], 60))
        self.assertEqual(kept["found"], {"yaml": 5, "seconds_each": "600s"})
        self.assertEqual(kept["said"], "none of which breaks anything")

    def test_parts_of_two_commits_add_up(self):
        self.assertEqual(self.keep("2/2", "bbb", "yaml 5\nseed 1a\n")["verdict"], "1 of 2 parts passed")
        kept = self.keep("1/2", "aaa", "yaml 7\njson 1\n")
        self.assertEqual((kept["verdict"], kept["commits"], kept["seconds"]), ("passed", ["aaa", "bbb"], 120))
        self.assertEqual(kept["found"], {"yaml": 12, "json": 1, "seed": "1a"})
        self.assertEqual([part["part"] for part in kept["parts"]], ["1/2", "2/2"])

    def test_a_part_replaces_itself_alone(self):
        self.keep("1/2", "aaa", "yaml 1\n", verdict="failed")
        self.assertEqual(self.keep("2/2", "aaa", "yaml 1\n")["verdict"], "failed")
        kept = self.keep("1/2", "bbb", "yaml 4\n")
        self.assertEqual((kept["verdict"], kept["found"]["yaml"]), ("passed", 5))

    def test_another_division_begins_anew(self):
        self.keep("1/2", "aaa", "yaml 1\n")
        self.assertEqual(self.keep("1/3", "aaa", "yaml 1\n")["verdict"], "1 of 3 parts passed")

    def test_a_result_of_the_earlier_form_is_replaced(self):
        self.file.write_text('{"stage": "fuzz", "verdict": "passed", "found": {"yaml": 9}}')
        self.assertEqual(self.keep("1/1", "aaa", "yaml 1\n")["found"], {"yaml": 1})


class Parts(unittest.TestCase):
    def refused(self, stage, message):
        done = subprocess.run([HERE / "run.sh", stage], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (2, message + "\n"))

    def test_what_cannot_be_run(self):
        for stage in ("fuzz:0/2", "fuzz:3/2", "fuzz:1", "fuzz:", "fuzz:1/2/3", "fuzz:a/b"):
            self.refused(stage, f"{stage}: a part is fuzz:K/N, with K from 1 to N")
        self.refused("kills:1/2", "kills cannot be divided")

    def test_each_line_belongs_to_one_part(self):
        lines = [str(i) for i in range(10)]
        shares = [subprocess.run(["bash", "-c", f"WEFT_LONG_PART={k}/3; source {HERE}/share.sh; share"], check=True,
                                 input="\n".join(lines) + "\n", capture_output=True, text=True).stdout.split()
                  for k in (1, 2, 3)]
        self.assertEqual(sorted(sum(shares, []), key=int), lines)
        self.assertTrue(all(len(share) in (3, 4) for share in shares))


if __name__ == "__main__":
    unittest.main()
