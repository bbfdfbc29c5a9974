# SPDX-License-Identifier: Apache-2.0
"""What scripts that write tables of characters as C++ have in common."""


def lower_runs(pairs):
    """Of (code point, its small letter), ascending: (first, last, stride, delta), where code points first, first + stride, ...,
    last map to themselves + delta. Those that map to themselves are left out."""
    runs = []
    for cp, small in pairs:
        delta = small - cp
        if delta == 0:
            continue
        if runs and runs[-1][3] == delta:
            first, last, stride, _ = runs[-1]
            step = cp - last
            if step <= 2 and (first == last or step == stride):
                runs[-1] = (first, cp, step, delta)
                continue
        runs.append((cp, cp, 1, delta))
    return runs


def table(name, kind, rows):
    lines = [f"constexpr {kind} {name}[] = {{"]
    line = "   "
    for row in rows:
        cell = " {" + ", ".join(row) + "},"
        if len(line) + len(cell) > 119:
            lines.append(line)
            line = "   "
        line += cell
    return "\n".join([*lines, line, "};\n"])


def lower_table(name, kind, pairs):
    return table(name, kind, ((hex(a), hex(b), str(s), str(d)) for a, b, s, d in lower_runs(pairs)))
