# SPDX-License-Identifier: Apache-2.0
"""words.py on a few lines of each kind of file, and as a program on a repository of the test."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import words  # noqa: E402


def found(path, text):
    return [(line, what) for line, what, _ in words.findings(path, text)]


class Words(unittest.TestCase):
    def test_each_phrase_is_found_in_any_case(self):
        for phrase in words.PHRASES:
            self.assertEqual(found("a.cpp", f"int x;  // It {phrase} here.\n"), [(1, f'"{phrase}"')])
            self.assertEqual(found("a.md", f"\n{phrase.capitalize()}, we think.\n"), [(2, f'"{phrase}"')])

    def test_parts_of_words_are_not_found(self):
        for text in ("a renewal", "the maneweb", "cargo one", "forego on", "go-on", "let us go off", "may be items"):
            self.assertEqual(found("a.md", text), [])

    def test_a_phrase_is_found_across_the_end_of_a_line(self):
        for path, text in (("a.cpp", "// A run that goes\n// on.\n"), ("a.cu", "/* it goes\n * on */"), ("a.sh", "# goes\n# on\n"),
                           ("a.py", "text = ('it goes '\n        'on')\n"), ("a.cpp", 'f("it goes "\n  "on");\n'),
                           ("a.md", "It goes\non.\n"), ("a.md", "> It goes\n> on.\n")):
            self.assertEqual([what for _, what in found(path, text)], ['"goes on"'], text)

    def test_code_between_words_separates_them(self):
        self.assertEqual(found("a.cpp", 'f("go", on);\n// go\nint on;\n'), [])
        self.assertEqual(found("a.py", "assert x is None\n"), [])

    def test_patches_are_read_down_to_their_changes(self):
        text = "A run begins anew.\nTest: a_test A.*\n\ndiff --git a/x.h b/x.h\n+// anew\n"
        self.assertEqual(found("1.patch", text), [(1, '"anew"')])

    def test_an_exemption_needs_a_reason_and_a_finding(self):
        self.assertEqual(found("a.yaml", "text: anew  # allow-words: golden data\n"), [])
        self.assertEqual(found("a.yaml", "text: anew  # allow-words: no\n"), [(1, '"anew"')])
        self.assertEqual(found("a.yaml", "text: new  # allow-words: golden data\n"), [(1, "an exemption of nothing")])

    def test_comments_without_a_subject(self):
        for comment in ("of the key", "of a rank", "likewise", "the same"):
            what = [f'the comment "{comment}"'] + (['"likewise"'] if comment == "likewise" else [])
            self.assertEqual(sorted(w for _, w in found("a.h", f"int x;  // {comment}\n")), sorted(what))
        for comment in ("bytes of the key", "of the key: its bytes", "offset", "the same order on every rank, always"):
            self.assertEqual(found("a.h", f"int x;  // {comment}\n"), [])
        self.assertEqual(found("a.cpp", "// The bytes\n// of the key\nint x;  // The bytes\n        // of a rank\n"), [])
        self.assertEqual(found("a.cpp", "int x;\n\n  // of the key\n"), [(3, 'the comment "of the key"')])

    def test_names_of_tests(self):
        self.assertEqual(found("a_test.cpp", "TEST(Chrf, EqualsSacrebleu) {\n"), [])
        self.assertEqual(found("a_test.cpp", "TEST(MemoryDeathTest, TheHostCannotTouchIt) {\n"), [])
        self.assertEqual(found("a_test.cpp", "TEST(Shards, ANewShardIsRead) {\n"), [])
        self.assertEqual(found("a_test.cpp", "\nTEST_F(ChrfTest, EqualsSacrebleu) {\n"), [(2, "suite ChrfTest")])
        self.assertEqual(found("a_test.cpp", "TEST_P(Perplexity, OfNothingIsAnError) {\n"),
                         [(1, "test Perplexity.OfNothingIsAnError")])
        self.assertEqual(found("a_test.cpp", "TEST(Run, ARunGoesOn) {\n"), [(1, '"goes on" in test Run.ARunGoesOn')])

    def test_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            def run(*arguments):
                done = subprocess.run([sys.executable, "-B", words.__file__, *arguments], cwd=folder, capture_output=True, text=True)
                return done.returncode, done.stdout

            environment = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("GIT_")}
            try:
                self.assertEqual(run()[0], 77)
                subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
                tree = pathlib.Path(folder)
                (tree / "room").mkdir()
                (tree / "room/a.h").write_text("// It begins anew.\n")
                (tree / "b.md").write_text("It begins again.\n")
                self.assertEqual(run(), (0, "words: nothing found\n"))  # git does not track the files
                subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
                self.assertEqual(run(), (1, f'room/a.h:1: "anew": {words.PHRASES["anew"]}\n'))
                self.assertEqual(run("--list"), (1, "     1 room\n"))
                self.assertEqual(run("b.md"), (0, "words: nothing found\n"))
            finally:
                os.environ.update(environment)


if __name__ == "__main__":
    unittest.main()
