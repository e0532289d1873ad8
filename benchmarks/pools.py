"""Chance and raw material of the generated corpus: a Zipfian vocabulary, pools of lines, files.

Lines are kept escaped as the inside of a JSON string, so that a session only has to join them.
"""

import functools
from dataclasses import dataclass
from random import Random

WORD_OCTAVES = 17
PROJECTS = 48
FILES_PER_PROJECT = 48
REPEATED = 150  # of 256: how often a line of a file is one that it had before

# No root lies near an integer, so a last-bit difference between maths libraries cannot show.
_ROOTS = tuple(int(65536 * 2 ** (step / 64)) for step in range(64))
_COMMON = (
    b"the to of and in is for that this with it be on as not are from if when return error test "
    b"file self def import none true false value name data line path type result list string key "
    b"function class config request response session client server index count status message "
    b"time user item state update check build create read write open close start stop run call "
    b"query table column row field event handler module package version change add remove fix "
    b"should would can will has have was were by or an at we you but also only then than into out "
    b"new old first last next each all any other same more less before after between while until "
    b"expected actual assert raise except try else elif for while yield async await lambda const "
    b"export function interface extends implements public private static void int bool float"
).split()
_ONSETS = b"b c d f g h j k l m n p r s t v w st tr pl gr br ch sh th cl pr sp".split()
_RIMES = b"a e i o u an er in or al en ar ist ent ium ade ock ound ight ast".split()
_SUFFIXES = (b".py", b".ts", b".go", b".sql", b".md", b".yaml", b".json", b".tsx")
_CODE = (
    b"    %s = %s(%s, %s)",
    b"        if %s.%s is None:",
    b"def %s(%s: %s, %s: %s) -> %s:",
    b'    raise %s(f\\"%s {%s} %s\\")',
    b"    return %s[%s].%s",
    b"\\tfor _, %s := range %s.%s {",
    b'\\t\\tt.Errorf(\\"%s %s: got %%v, want %%v\\", %s, %s)',
    b"  const { %s, %s } = await %s(%s);",
    b"from %s.%s import %s, %s",
    b"    # %s %s %s %s %s",
    b"    assert %s(%s) == %s",
    b"export function %s(%s: %s): %s {",
)
_LOG = (
    b"INFO  %s.%s %s %s=%s %s=%s",
    b"WARN  [%s] %s %s %s after %s",
    b"ERROR %s: %s %s (%s)",
    b"tests/%s/test_%s::test_%s_%s PASSED",
    b"  at %s (%s:%s)",
    b"+++ b/%s/%s",
    b"-    %s = %s.%s(%s)",
    b"%s  %s  %s  %s",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    root: bytes
    slug: str
    paths: tuple[bytes, ...]
    texts: tuple[tuple[bytes, ...], ...]


def below(rng: Random, limit: int) -> int:
    return (rng.getrandbits(32) * limit) >> 32


def lognormal(rng: Random, *, median: int, spread: int) -> int:
    """A log-normal size in integers: eight uniform draws make a bell in 1/64 octaves."""
    bits = rng.getrandbits(64)
    bell = sum((bits >> shift) & 255 for shift in range(0, 64, 8)) - 1020  # sd about 209
    step = (bell * spread) // 209
    octaves = step >> 6
    scaled = median * _ROOTS[step & 63] << max(octaves, 0)
    return max(1, scaled >> 16 >> max(-octaves, 0))


def rank(rng: Random) -> int:
    """Octaves are equally likely, ranks within one too: a staircase along Zipf's curve."""
    octave = below(rng, WORD_OCTAVES)
    return (1 << octave) + rng.getrandbits(octave) - 1 if octave else 0


@functools.cache
def vocabulary() -> tuple[bytes, ...]:
    """131,072 distinct words by falling frequency: prose, identifiers, paths, numbers."""
    rng = Random(20)
    words = list(dict.fromkeys(_COMMON))
    known = set(words)
    plain = list(words)
    while len(words) < 1 << WORD_OCTAVES:
        word = _coined(rng, plain)
        if word not in known:
            known.add(word)
            words.append(word)
            if len(plain) < 9000 and word.isalpha() and word.islower():
                plain.append(word)
    return tuple(words)


def _coined(rng: Random, plain: list[bytes]) -> bytes:
    kind = rng.getrandbits(4)
    if len(plain) < 400 or kind < 7:
        return b"".join(syllable(rng) for _ in range(2 + rng.getrandbits(1)))
    first, second = plain[below(rng, len(plain))], plain[below(rng, len(plain))]
    if kind < 10:
        return first + b"_" + second
    if kind < 12:
        return first.capitalize() + second.capitalize()
    if kind < 14:
        return b"src/%s/%s%s" % (first, second, _SUFFIXES[rng.getrandbits(3)])
    if kind < 15:
        return b"%s.%s" % (first, second)
    return b"%d" % rng.getrandbits(16)


def syllable(rng: Random) -> bytes:
    return _ONSETS[below(rng, len(_ONSETS))] + _RIMES[below(rng, len(_RIMES))]


@functools.cache
def code_lines() -> tuple[bytes, ...]:
    rng, words = Random(21), vocabulary()
    return tuple(_filled(rng, words, _CODE) for _ in range(48_000))


@functools.cache
def log_lines() -> tuple[bytes, ...]:
    rng, words = Random(22), vocabulary()
    return tuple(_filled(rng, words, _LOG) for _ in range(32_000))


@functools.cache
def sentences() -> tuple[bytes, ...]:
    rng, words = Random(23), vocabulary()
    return tuple(_sentence(rng, words) for _ in range(16_000))


def _filled(rng: Random, words: tuple[bytes, ...], shapes: tuple[bytes, ...]) -> bytes:
    shape = shapes[below(rng, len(shapes))]
    return shape % tuple(words[rank(rng)] for _ in range(shape.count(b"%s")))


def _sentence(rng: Random, words: tuple[bytes, ...]) -> bytes:
    count = 5 + rng.getrandbits(3)
    text = b" ".join(words[rank(rng)] for _ in range(count))
    return text[:1].upper() + text[1:] + b"."


@functools.cache
def project(number: int) -> Project:
    rng, words = Random(5000 + number), vocabulary()
    name = _COMMON[40 + number] + b"-" + _COMMON[90 - number]
    plain = [word for word in words[:9000] if word.isalpha() and word.islower()]
    paths = tuple(
        b"src/%s/%s%s" % (plain[rng.getrandbits(6)], plain[rng.getrandbits(11)], _SUFFIXES[k & 7])
        for k in range(FILES_PER_PROJECT)
    )
    texts = tuple(_text(rng) for _ in paths)
    root = b"/home/dev/" + name
    slug = root.decode().replace("/", "-")
    return Project(root=root, slug=slug, paths=paths, texts=texts)


def _text(rng: Random) -> tuple[bytes, ...]:
    """A file or a long log: lines of one kind, many of which return."""
    fresh = code_lines() if rng.getrandbits(2) else log_lines()
    text: list[bytes] = [fresh[below(rng, len(fresh))]]
    for _ in range(lognormal(rng, median=240, spread=80)):
        source = text if rng.getrandbits(8) < REPEATED else fresh
        text.append(source[below(rng, len(source))])
    return tuple(text)
