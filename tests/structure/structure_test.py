# SPDX-License-Identifier: Apache-2.0
"""structure.py finds the mistakes that it looks for, in a small tree of sources."""

import pathlib
import tempfile
import unittest

import structure

HOUSE = {
    "CMakeLists.txt": "foreach(room\n    low low/inner high)\nendforeach()\n",
    "low/CMakeLists.txt": "weft_room(low)\n",
    "low/a.h": "namespace weft {\nstruct A {\n  struct Part {};\n};\n}\n",
    "low/a.cpp": '#include "low/a.h"\n',
    "low/inner/CMakeLists.txt": "weft_room(low/inner\n  ROOMS low\n  LINK weft::fmt ${CMAKE_DL_LIBS})\n",
    "low/inner/b.h": '#include "low/a.h"\nnamespace weft {\nclass B : public A {\n  struct Part {};\n};\n}\n',
    "low/inner/b.cpp": '#include "low/inner/b.h"\n',
    "high/CMakeLists.txt": "weft_room(high\n  ROOMS low low/inner)\n",
    "high/c.cpp": '#include "low/inner/b.h"\nconst char* text = "struct A {";\n',
}


class StructureTest(unittest.TestCase):
    def problems(self, concepts=(), **changes):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**HOUSE, **changes}.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            rooms = structure.find_rooms(root)
            texts = structure.read_includes(root, rooms)
            return list(structure.problems(root, rooms, texts, dict(concepts)))

    def test_a_good_house(self):
        self.assertEqual(self.problems(), [])

    def test_rooms_listed_too_little_and_too_much(self):
        self.assertEqual(self.problems(**{"high/CMakeLists.txt": "weft_room(high\n  ROOMS low/inner)\n"}),
                         ["high reaches low, which its ROOMS do not list"])
        self.assertEqual(self.problems(**{"high/c.cpp": '#include "low/a.h"\n'}),
                         ["high lists low/inner, which none of its sources reaches"])

    def test_an_include_that_goes_up_and_round(self):
        found = self.problems(**{"low/a.cpp": '#include "low/inner/b.h"\n'})
        self.assertIn("low stands below low/inner and includes it", found)
        self.assertIn("low includes rooms that include it", found)

    def test_a_type_of_two_headers(self):
        twice = "namespace weft {\nenum class A : int { X };\n}\n"
        self.assertEqual(self.problems(**{"low/inner/d.h": twice}), ["weft::A is defined in low/a.h, low/inner/d.h"])
        elsewhere = "namespace weft::inner {\nusing A = int;\n}\n"
        self.assertEqual(self.problems(**{"low/inner/d.h": elsewhere}), [])

    def test_rooms_that_are_too_large(self):
        found = self.problems(**{"low/a.cpp": "\n" * 5001})
        self.assertEqual(found, ["low has 2 files and 5006 lines; at most 30 and 5000"])
        many = {f"high/x{i}.h": "" for i in range(30)}
        self.assertEqual([p.split(" and ")[0] for p in self.problems(**many)], ["high has 31 files"])

    def test_folders_of_tests_that_are_too_large(self):
        many = {f"tests/low/x{i}.cpp": "" for i in range(31)}
        self.assertEqual(self.problems(**many), ["tests/low has 31 files; at most 30"])

    def test_memory_that_is_not_the_hosts(self):
        self.assertEqual(self.problems(**{"low/a.h": "inline float f(T t) { return t.data<float>()[0]; }\n"}),
                         ["low/a.h touches a tensor's memory on the host: use an operation, upload or download"])
        self.assertEqual(self.problems(**{"low/a.h": "inline void* f(T t) { return t.device_raw(); }\n"}),
                         ["low/a.h touches a device's memory: use an operation, upload or download"])
        self.assertEqual(self.problems(**{"low/a.h": "inline void f(std::span<int> s);\n"}), [])

    def test_lines_that_may_be_cut(self):
        for call in ('std::printf("%d", 1)', 'fprintf(stderr, "a")', "std::cout << 1", 'fmt::print("a")'):
            self.assertEqual(self.problems(**{"low/a.cpp": f"void f() {{ {call}; }}\n"}),
                             ["low/a.cpp prints through stdio: use base/output.h, which never cuts a line"])
        self.assertEqual(self.problems(**{"low/a.cpp": 'void f() { print("printf("); snprintf(a, 1, ""); }\n'}), [])

    def test_json_of_any_depth(self):
        for call in ("nlohmann::json::parse(text)", "OrderedJson::accept(text)", "basic_json<>::sax_parse(text, &sax)"):
            self.assertEqual(self.problems(**{"low/a.cpp": f"auto f() {{ return {call}; }}\n"}),
                             ["low/a.cpp parses JSON by itself: use parse_json, which bounds how deep it goes"])
        self.assertEqual(self.problems(**{"low/a.cpp": "// Json::parse(text)\nauto f() { return parse_json(text); }\n"}), [])

    def test_a_concept_of_two_rooms(self):
        schema = "struct JobConfig {\n};\n"
        house = {"low/a.cpp": schema, "high/c.cpp": '#include "low/inner/b.h"\n' + schema}
        self.assertEqual(self.problems({"schema": "^struct JobConfig"}, **house), ["schema lives in high, low"])

    def test_a_concept_whose_pattern_matches_nothing(self):
        self.assertEqual(self.problems({"schema": "^struct Job"}), ["nothing is schema: mend its pattern in CONCEPTS"])

    def test_folders_at_every_depth(self):
        deep = {"low/cuda/attention/x.h": '#include "high/c.h"\n', "high/c.h": ""}
        self.assertIn("low stands below high and includes it", self.problems(**deep))
        many = {f"low/cuda/attention/x{i}.h": "" for i in range(31)}
        self.assertEqual([p.split(" and ")[0] for p in self.problems(**many)], ["low/cuda/attention has 31 files"])

    def test_a_command_that_is_too_long(self):
        house = {"CMakeLists.txt": "foreach(room launch)\n", "launch/CMakeLists.txt": "weft_room(launch)\n",
                 "launch/commands/x.cpp": "\n" * 101}
        self.assertEqual(self.problems(**house), ["launch/commands/x.cpp has 101 lines; a command has at most 100"])


if __name__ == "__main__":
    unittest.main()
