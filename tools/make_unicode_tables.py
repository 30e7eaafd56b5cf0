"""Writes src/text/unicode_tables.cpp from Python's unicodedata. Run: python3 tools/make_unicode_tables.py"""

import os
import sys
import unicodedata

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src", "text", "unicode_tables.cpp")
CODES = [c for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]


def ranges(holds):
    """Boundaries: a code point is in the set when an odd number of them is not above it."""
    out, inside = [], False
    for code in range(sys.maxunicode + 2):
        now = code <= sys.maxunicode and holds(code)
        if now != inside:
            out.append(code)
            inside = now
    return out


def category(letters):
    return ranges(lambda code: unicodedata.category(chr(code)).startswith(letters))


def lower_case():
    """(first, last, step, distance) of runs of letters at the same distance from their lower case."""
    runs = []
    for code in CODES:
        low = chr(code).lower()
        if len(low) != 1 or ord(low) == code:
            continue
        distance = ord(low) - code
        if runs and runs[-1][3] == distance and code - runs[-1][1] in (1, 2):
            first, last, step, _ = runs[-1]
            if first == last or step == code - last:
                runs[-1] = (first, code, code - last, distance)
                continue
        runs.append((code, code, 1, distance))
    return [number for run in runs for number in run]


def classes():
    """(first, last, combining class) of the runs that have one."""
    runs = []
    for code in CODES:
        number = unicodedata.combining(chr(code))
        if not number:
            continue
        if runs and runs[-1][2] == number and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code, number])
    return [number for run in runs for number in run]


def decompositions(compatible):
    """code, length, code points: one step each; Hangul syllables are computed instead."""
    out = []
    for code in CODES:
        text = unicodedata.decomposition(chr(code))
        if not text or 0xAC00 <= code <= 0xD7A3 or (text[0] == "<") != compatible:
            continue
        parts = [int(word, 16) for word in text.split() if word[0] != "<"]
        out += [code, len(parts), *parts]
    return out


def not_composed():
    """Canonical pairs that normal form C leaves apart."""
    out = []
    for code in CODES:
        text = unicodedata.decomposition(chr(code))
        if text and text[0] != "<" and " " in text and unicodedata.normalize("NFC", chr(code)) != chr(code):
            out.append(code)
    return out


def table(name, numbers):
    lines, line = [], "   "
    for number in numbers:
        word = f" {number},"
        if len(line) + len(word) > 118:
            lines.append(line)
            line = "   "
        line += word
    lines.append(line)
    return f"constexpr int32_t k{name}[] = {{\n" + "\n".join(lines) + "\n};\n"


def main():
    names = {
        "Accents": category("Mn"), "Marks": category("M"), "Punctuation": category("P"), "Numbers": category("N"),
        "Others": category(("Cc", "Cf", "Co")), "LowerCase": lower_case(), "CombiningClasses": classes(),
        "NotComposed": not_composed(), "Canonical": decompositions(False), "Compatible": decompositions(True),
    }
    with open(PATH, "w") as file:
        file.write("// check: table. Facts of Unicode " + unicodedata.unidata_version + ", written by "
                   "tools/make_unicode_tables.py.\n#include \"lamella/text/unicode_tables.h\"\n\n"
                   "namespace lamella::unicode_tables {\nnamespace {\n\n// clang-format off\n")
        file.write("".join(table(name, numbers) for name, numbers in names.items()))
        file.write("// clang-format on\n\n}  // namespace\n\n")
        for name in names:
            function = "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")
            file.write(f"std::span<const int32_t> {function}() {{ return k{name}; }}\n")
        file.write("\n}  // namespace lamella::unicode_tables\n")


main()
