"""Runs regular expressions where it may die: a program of its own, fed through a pipe.

Python's expressions can take forever over a few letters, and nothing inside the interpreter can
stop one. So the alarm clock of this process is not handled: when it rings, the process ends.

In, as lines of JSON: the sources; then again and again a number of seconds and a list of texts.
Out, a line of JSON for each list: for every source and text the first places it is found at.
"""

import json
import re
import resource
import signal
import sys
import warnings

# Places that are told of one text.
MOST_PLACES = 20
LARGEST_MEMORY = 1024 * 1024 * 1024


def main() -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (LARGEST_MEMORY, LARGEST_MEMORY))
    warnings.simplefilter("ignore")
    patterns = [re.compile(source, re.IGNORECASE) for source in json.loads(sys.stdin.readline())]
    for line in sys.stdin:
        seconds, texts = json.loads(line)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        found = [[places(pattern, text) for text in texts] for pattern in patterns]
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


def places(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for found in pattern.finditer(text):
        if found.end() > found.start():
            out.append(found.span())
            if len(out) == MOST_PLACES:
                break
    return out


if __name__ == "__main__":
    main()
