"""Dirty files whose truth is known by construction: none is wrong in silence."""

from collections import Counter

import pytest

from tests.smpcore.datasets.dirty_files import KINDS, drawn, verdict

N_FILES = 4
#: Kinds that leave a doubt even to a reader: is the last line a case, or a note?
DOUBTFUL = {"note below two columns", "keys and values above"}
DOUBTFUL |= {"title with delimiters", "thousands with points only"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_a_kind_is_read_as_it_was_meant(kind):
    each = [verdict(*drawn(kind, 40, number)) for number in range(N_FILES)]
    words = Counter(word for word, _ in each)
    assert words["right"] >= N_FILES - (kind in DOUBTFUL), each
    assert not words["silent"]
