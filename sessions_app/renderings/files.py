"""Files that were read: with the colours of their language and the numbers of their lines."""

import re

from sessions_app.domain.meanings import View
from sessions_app.renderings.pen import Pen
from sessions_app.renderings.shape import Code, PartView, Source

LANGUAGES = {
    **dict.fromkeys(("py", "pyi"), "python"),
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), "javascript"),
    **dict.fromkeys(("ts", "tsx", "mts"), "typescript"),
    **dict.fromkeys(("sh", "bash", "zsh"), "bash"),
    **dict.fromkeys(("yml", "yaml"), "yaml"),
    **dict.fromkeys(("c", "h"), "c"),
    **dict.fromkeys(("cc", "cpp", "cxx", "hpp", "hh"), "cpp"),
    **dict.fromkeys(("kt", "kts"), "kotlin"),
    **dict.fromkeys(("html", "htm"), "html"),
    **dict.fromkeys(("md", "mdx", "markdown"), "markdown"),
    **dict.fromkeys(("json", "jsonl", "jsonc"), "json"),
    **dict.fromkeys(("rs", "go", "java", "rb", "php", "css", "sql", "xml", "toml"), ""),
    **dict.fromkeys(("swift", "scala", "lua", "perl", "ini", "scss", "diff", "dart"), ""),
    "ps1": "powershell",
    "cs": "csharp",
    "pl": "perl",
    "ex": "elixir",
    "tf": "terraform",
    "dockerfile": "docker",
    "makefile": "make",
}
# Some tools number the lines they hand over: `  12→text`, `12\ttext`, `12. text`.
NUMBERED = re.compile(r" {0,8}(\d{1,9})(?:→|\t|\. ?|: )(.*)", re.DOTALL)


def language_of(path: str) -> str:
    name = path.replace("\\", "/").rpartition("/")[2].casefold()
    suffix = name.rpartition(".")[2]
    return LANGUAGES.get(suffix, "") or (suffix if suffix in LANGUAGES else "")


def result(text: str, told: View, pen: Pen) -> list[PartView]:
    if not text.strip():
        return []
    lines, first, rest = _lines(text, told.first)
    html = pen.code("\n".join(lines), language_of(told.path))
    shown = min(len(lines), str(html).count("\n") + 1)
    numbers = "\n".join(str(first + n) for n in range(shown))
    parts: list[PartView] = [Source(html=html, numbers=numbers, label=told.path[:200])]
    if rest.strip():
        parts.append(Code(html=pen.text(rest.strip("\n")), label="remark of the tool"))
    return parts


def _lines(text: str, first: int) -> tuple[list[str], int, str]:
    """The lines of the file, the number of the first, and what the tool said after them."""
    lines = text.rstrip("\n").split("\n")
    found = [NUMBERED.fullmatch(line) for line in lines]
    numbered = next((n for n, each in enumerate(found) if each is None), len(found))
    if not numbered or (numbered < 2 and len(lines) > 1):
        return lines, first, ""
    kept = [each for each in found[:numbered] if each is not None]
    return [each[2] for each in kept], int(kept[0][1]), "\n".join(lines[numbered:])
