# SPDX-License-Identifier: Apache-2.0
"""A page of documentation in parts: code, blocks, tables, links and headings, each with its line."""

import dataclasses
import re
import shlex

COMMENT = re.compile(r"<!-- ((?:not run|before|from|printed|rows|needs): .*)")


# The words after a name that was right at a commit, and need not be right now.
OF_A_COMMIT = r"[^.|]{0,60}\bat\s+commit\s+[0-9a-f]{7}"


@dataclasses.dataclass
class Block:
    line: int  # the line of its fence
    language: str
    comment: str
    text: str = ""

    def commands(self):
        """The words of each command, with the line on which it begins; a backslash or an open quote continues a command."""
        joined, first = "", 0
        for number, line in enumerate(self.text.splitlines(), self.line + 1):
            first = first or number
            joined += line.removesuffix("\\")
            words = None if line.endswith("\\") else shell_words(joined)
            if words is None:
                joined += "\n"
                continue
            for command in simple_commands(words):
                yield first, command
            joined, first = "", 0


@dataclasses.dataclass
class Table:
    line: int
    comment: str
    rows: list


class Page:
    def __init__(self, text):
        self.text = text
        self.blocks, self.tables, self.spans, self.placed_spans, self.links, self.headings = [], [], [], [], [], set()
        self._paragraph, self._comment, self._in_comment, self._block = [], "", False, None
        for number, line in enumerate(text.splitlines(), 1):
            self._read(number, line)
        self._end_paragraph()

    def _read(self, number, line):
        fence = re.match(r"\s*```(.*)$", line)
        if self._block:
            if fence and not fence[1]:
                self.blocks.append(self._block)
                self._block = None
            else:
                self._block.text += line + "\n"
        elif self._in_comment:
            self._in_comment = "-->" not in line
        elif fence:
            self._end_paragraph()
            self._block, self._comment = Block(number, fence[1], self._comment), ""
        elif match := COMMENT.match(line):
            self._end_paragraph()
            self._comment = match[1].removesuffix(" -->")
            self._in_comment = "-->" not in line
        elif line.startswith("#"):
            self._end_paragraph()
            title = re.sub(r"[^\w\s-]", "", line.lstrip("# ").replace("`", "").lower())
            self.headings.add(title.replace(" ", "-"))
        elif not line.strip():
            self._end_paragraph()
        else:
            self._paragraph.append((number, line))

    def _end_paragraph(self):
        lines, self._paragraph = self._paragraph, []
        if not lines:
            return
        first = lines[0][0]
        rows = [line for _, line in lines if line.startswith("|")]
        if lines[0][1].startswith("|"):
            self.tables.append(Table(first, self._comment, rows))
            self._comment = ""
        parts = [(number, line) for number, line in lines] if rows else [(first, "\n".join(line for _, line in lines))]
        for number, text in parts:
            self._read_text(number, text)

    def _read_text(self, first, text):
        text = text.replace("\\|", "|")

        def place(match):
            return first + text.count("\n", 0, match.start())

        def flat(code):
            return " ".join(code.split())

        for match in re.finditer(r"`([^`]+)`", text):
            if not re.match(OF_A_COMMIT, text[match.end():]):
                self.spans.append((place(match), flat(match[1])))
        for match in re.finditer(r"`([^`]+)`\s+\(`([^`]+\.\w+)`", text):
            self.placed_spans.append((place(match), flat(match[1]), match[2]))
        for match in re.finditer(r"\[([^\]]*)\]\(([^)\s]+)\)", text):
            self.links.append((place(match), match[2], match[1], text))


def shell_words(text):
    """The words of a command, or None if a quote is still open."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, "#"
    try:
        return list(lexer)
    except ValueError:
        return None


def simple_commands(words):
    """The commands on a line of shell words, without the operators and keywords that join them."""
    command, skip = [], False
    for word in words + [";"]:
        if re.match(r"[;&|()]+$", word):
            if command:
                yield command
            command = []
        elif re.match(r"[<>]+$", word):
            skip = True
        elif skip:
            skip = False
        elif command or word not in ("do", "done", "then", "fi", "else", "while", "if", "!"):
            command.append(word)
