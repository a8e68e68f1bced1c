"""The attacker: ``python -m tests.attack [--only WORD] [--minutes N] [--seed S]``.

First what nobody expects, drawn by seeds (`fuzz`): of each kind how often it was taken,
how often refused in words, and the seed of each raw answer. Then traffic on a server
(`traffic`): what another visitor waits meanwhile. WORD chooses kinds and rows by their
name; a word with | between words several. The minutes are those of the drawn part.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time

from tests.attack import fuzz, traffic


def drawn(only: list[str], minutes: float, seed: int) -> int:
    """Attack with each kind in turn; how many answers were raw."""
    rounds = {kind: fuzz.Round() for kind in fuzz.KINDS if any(w in kind for w in only)}
    end = time.monotonic() + 60 * minutes
    for number in itertools.count(seed):
        if not rounds or time.monotonic() > end:
            break
        for kind, one in rounds.items():
            fuzz.attack(kind, number, one)
            if number in one.raw:
                print(f"{kind}, seed {number}: {one.raw[number]}", flush=True)
    for kind, one in rounds.items():
        refused = one.refused.total()
        print(f"{kind:<14} {one.taken} taken, {refused} refused, {len(one.raw)} raw")
    return sum(len(one.raw) for one in rounds.values())


def main() -> int:
    """Attack; 1 if anything was answered raw."""
    parser = argparse.ArgumentParser(prog="tests.attack", description=__doc__)
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    only = options.only.split("|")
    n_raw = drawn(only, options.minutes, options.seed)
    traffic.main(only)
    return int(n_raw > 0)


if __name__ == "__main__":
    sys.exit(main())
