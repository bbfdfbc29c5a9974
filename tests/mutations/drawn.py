# SPDX-License-Identifier: Apache-2.0
"""Draws breakages from sources: the edits that leave out, negate, swap, shorten or do not throw what a line says."""

import difflib
import random
import re

NO_STATEMENT = re.compile(
    r"(return|throw|using|const|constexpr|auto|static|static_assert|struct|class|enum|typedef|case|default|break|continue|"
    r"goto|delete|if|for|while|do|else|namespace|template|friend|public|private|protected|extern|explicit|virtual)\b")
# A call or an assignment whose left side has no space, as a declaration has.
STATEMENT = re.compile(r"(\+\+|--)?[\w:.>()\[\]*-]+(\s(=|[-+*/%|&^]=|<<=|>>=)\s.+)?;")
# What begins or ends a block, declares a local name, without which a line may still say the same, or reads the status of
# the line before, which the switch would change.
NO_SHELL_STATEMENT = re.compile(r"$|#|\w+=\$\?|(exit|return)$|[{}]|(if|then|elif|else|fi|for|while|until|do|done|case|esac|local)\b|\w+\(\)|.*(\\|[{|&(])$")
SHELL_COMMENT = re.compile(r"\s+#\s.*")
CONDITION = re.compile(r"(\s*(?:\} else )?if )\((.*)\) (\{|throw .*;|throw_\w+\(.*\);|return.*;|continue;|break;|[\w:.>-]+\(.*\);)")


# Code for devices, of which a copy is built and tested in another way. It is drawn from if a folder of it is named.
OF_DEVICES = re.compile(r"\.cuh?$|/cuda/|/nccl/")
CHOICE = re.compile(r"(\s*(?:return|(?:const )?[\w:]+(?: [\w:]+)? =|[\w:.>\[\]-]+ [-+*/]?=) )([^?]+?)( \? .*;)")
LOOP = re.compile(r"(\s*for \([^;]*; )(\w+ < [^;?]+)(; .*)")


def skeleton(text):
    """The text without the contents of literals, brackets and template arguments; None if its brackets do not match."""
    text = re.sub(r"'(\\.|[^'\\])'", "0", re.sub(r'"(\\.|[^"\\])*"', '""', text))
    text = re.sub(r"(?<=\w)<[\w:, ]+>", "", text)
    for opened, closed in ("()", "[]", "{}"):
        if text.count(opened) != text.count(closed):
            return None
    before = None
    while before != text:
        before = text
        text = re.sub(r"\([^()\[\]{}]+\)", "()", re.sub(r"\[[^()\[\]{}]+\]", "[]", re.sub(r"\{[^()\[\]{}]+\}", "{}", text)))
    return text


def begins_anew(lines, i):
    """Whether the line before line i has ended a statement or begun a block."""
    before = next((line.strip() for line in reversed(lines[:i]) if line.strip()), "")
    return before.startswith("//") or re.sub(r"\s*//.*", "", before).endswith((";", "{", "}"))


def is_call(code):
    return skeleton(code).endswith("();")


def is_statement(lines, i):
    """Whether line i is one whole statement, which can be left out."""
    text = lines[i].strip()
    if not lines[i].startswith("  ") or "//" in text or NO_STATEMENT.match(text) or not text.endswith(";"):
        return False
    if text.endswith(("= default;", "= delete;")):
        return False
    if not begins_anew(lines, i):
        return False
    bones = skeleton(text)
    return bones is not None and STATEMENT.fullmatch(bones) is not None and re.search(r"\(\)|=|\+\+|--", bones) is not None


def is_condition(text):
    return not re.search(r";|^\s*(const|auto|std::optional)\b|(^|[^=!<>])=([^=]|$)", text) and skeleton(f"({text})") == "()"


def candidates(text):
    """Yields (kind, first line, {line: new text}) of C++, where @ stands for the breakage's number."""
    lines = text.split("\n")
    statements = {i for i in range(len(lines)) if is_statement(lines, i)}
    for i, line in enumerate(lines):
        indent = line[:len(line) - len(line.lstrip())]
        code = line.strip()
        if i in statements:
            yield "left out", i, {i: f"{indent}if (!weft_break(@)) {{ {code} }}"}
            following = lines[i + 1].strip() if i + 1 in statements else code
            if following != code and is_call(code) and is_call(following):
                yield "swapped", i, {i: f"{indent}if (!weft_break(@)) {{ {code} }} else {{ {following} }}",
                                     i + 1: f"{indent}if (!weft_break(@)) {{ {following} }} else {{ {code} }}"}
        elif re.fullmatch(r"throw [^/]*;", code) and skeleton(code) and begins_anew(lines, i):
            yield "not thrown", i, {i: f"{indent}if (!weft_break(@)) {code}"}
        if (loop := LOOP.fullmatch(line)) and skeleton(f"({loop[2]})") == "()":
            yield "one less", i, {i: f"{loop[1]}weft_break(@) ? {loop[2]} - 1 : {loop[2]}{loop[3]}"}
        if (choice := CHOICE.fullmatch(line)) and is_condition(choice[2]) and not line.strip().startswith("constexpr"):
            yield "negated", i, {i: f"{choice[1]}(weft_break(@) != static_cast<bool>({choice[2]})){choice[3]}"}
        condition = CONDITION.fullmatch(re.sub(r"\s*//.*", "", line))
        if condition and is_condition(condition[2]):
            head, what, then = condition.groups()
            if then.startswith("throw"):
                yield "not thrown", i, {i: f"{head}(({what}) && !weft_break(@)) {then}"}
            else:
                yield "negated", i, {i: f"{head}(weft_break(@) != static_cast<bool>({what})) {then}"}


def candidates_of_shell(text):
    """The same of a shell script: a line is left out, or the condition of an `if` negated."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        indent, code = re.fullmatch(r"(\s*)(.*)", line).groups()
        if i and re.search(r"(\\|\||&&)$", lines[i - 1]):  # a command that has begun before
            continue
        active = "[[ ${WEFT_BREAK:-} == @ ]]"
        if condition := re.fullmatch(r"(if|elif) (.+?); then\b(.*)", code):
            word, what, then = condition.groups()
            edit = f"{indent}{word} {{ {active} && ! {{ {what}; }}; }} || {{ ! {active} && {{ {what}; }}; }}; then{then}"
            yield "negated", i, {i: edit}
        elif NO_SHELL_STATEMENT.match(code) is None:
            yield "left out", i, {i: f"{indent}{active} || {{ {SHELL_COMMENT.sub('', code)}; }}"}


def numbered(one):
    """The lines of a breakage as they are written, with its number."""
    return {int(at): re.sub(r"(weft_break\(|WEFT_BREAK:-\} == )@", rf"\g<1>{one['number']}", text)
            for at, text in one["edits"].items()}


def draw(root, folders, count, seed):
    """The breakages, numbered from 1: no line has two."""
    found = []
    for folder in folders:
        path = root / folder
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            name = str(file.relative_to(root))
            if OF_DEVICES.search(name) and not OF_DEVICES.search(f"{folder}/"):
                continue
            if name.endswith((".sh", ".sbatch")):
                found += [(name, *rest) for rest in candidates_of_shell(file.read_text())]
            elif name.endswith((".cpp", ".cu", ".cuh")) and not name.endswith("/without_nccl.cpp"):
                found += [(name, *rest) for rest in candidates(file.read_text())]
    random.Random(seed).shuffle(found)
    taken, drawn = set(), []
    for name, kind, line, edits in found:
        if len(drawn) == count:
            break
        places = {(name, at) for at in edits}
        if not places & taken:
            taken |= places
            drawn.append({"number": len(drawn) + 1, "file": name, "line": line + 1, "kind": kind,
                          "edits": {str(at): text for at, text in edits.items()}})
    return drawn


def moved(one, before, now):
    """Whether the lines of a breakage are in the later text too, to which it is then moved."""
    blocks = difflib.SequenceMatcher(None, before.split("\n"), now.split("\n"), autojunk=False).get_matching_blocks()
    place = {block.a + i: block.b + i for block in blocks for i in range(block.size)}
    if any(int(at) not in place for at in one["edits"]):
        return False
    one["edits"] = {str(place[int(at)]): text for at, text in one["edits"].items()}
    one["line"] = place[one["line"] - 1] + 1
    return True
