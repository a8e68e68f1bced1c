"""Texts on the pages: read as such, compared letter by letter, prototypes invented."""

import numpy as np
import pandas as pd
import pytest

from pages.state.host import resolve
from smpcore import METHODS, SmpcoreError, SuperSparseClassifier, load_dataset, prepare
from smpcore.datasets import make_dataset
from smpcore.datasets.columns import MAX_LENGTH
from smpcore.figures import nearest_view
from smpcore.live import Choice
from smpcore.methods.supersparse import encode_strings
from smpcore.similarity import Similarity
from tests.app import bring, kernels, metrics, opened, said, session_of, sound
from tests.test_live import Browser

pytestmark = pytest.mark.usefixtures(kernels.__name__)
WORDS = load_dataset("words")
ABLE = [k for k, m in METHODS.items() if m.learns(WORDS, WORDS.task)]
KIND = {"word": "text"}


def with_words(texts, **more):
    frame = pd.DataFrame({"word": texts, **more, "y": [0, 1] * (len(texts) // 2)})
    roles = dict.fromkeys(["word", *more], "feature")
    return make_dataset(frame, "t", kinds=KIND, roles=roles)


def test_a_text_is_a_feature_for_each_letter():
    rows = np.arange(60)
    preparation = prepare(WORDS, rows)
    X = preparation.transform(WORDS.frame)
    texts = WORDS.frame["word"].tolist()
    codes, letters = encode_strings(texts[:60])
    np.testing.assert_array_equal(X[:60], codes)
    (spec,) = preparation.inputs
    assert "".join(spec.levels) == letters == "ACGT"
    assert [spec.text(x) for x in X[:60]] == texts[:60]
    assert preparation.feature_names[1] == "word letter 2"


def test_letters_and_lengths_that_training_lacks_are_reported():
    preparation = prepare(with_words(["ab", "ba", "b", "aab"]), np.arange(4))
    new = pd.DataFrame({"word": ["abz", "aabb", None, "ab"]})
    X = preparation.transform(new)
    assert X.tolist() == [[0, 1, 2], [0, 0, 1], [-1, -1, -1], [0, 1, -1]]
    assert preparation.inputs[0].text(X[0]) == "ab?"
    assert preparation.report(new).loc["word"].tolist() == [1, 1, 1]
    named = preparation.report_rows(new)
    assert named["out of range"].tolist() == ["", "word is cut off", "", ""]
    assert named["unseen"].tolist()[0] == "word = abz"


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["a" * (MAX_LENGTH + 1), "b"], "has 101 letters in a text, at most 100"),
        ([chr(500 + i) for i in range(70)], "has 70 different letters, at most 64"),
    ],
)
def test_too_long_texts_are_refused(texts, words):
    with pytest.raises(SmpcoreError, match=words):
        prepare(with_words(texts), np.arange(len(texts)))


def test_one_text_alone_can_be_learned():
    beside = with_words(["ab", "ba", "b", "aab"], x=[1.0, 2.0, 3.5, 4.0])
    assert ABLE == [
        k
        for k, m in METHODS.items()
        if "cases" in m.title and m.learns(WORDS, "classification")
    ]
    for key, row in METHODS.items():
        words = "ignore all but word" if key in ABLE else "word is text"
        assert words in row.refusal(beside)


def test_a_window_of_texts_shows_their_nearest_rows():
    X = encode_strings(["aaaa", "aaab", "aabb", "bbbb", "bbba"])[0]
    view = nearest_view(X, Similarity("strings", gamma=0.3).values)
    xy = view.project(X)
    assert np.linalg.norm(xy[0] - xy[1]) < np.linalg.norm(xy[0] - xy[3])
    np.testing.assert_array_equal(view.lift(xy + 1e-6), X)


@pytest.mark.parametrize("method", ABLE)
def test_the_figure_says_the_prototypes_as_words(method):
    header = Browser(data="words", method=method).last
    picture, prototypes = header["picture"], header["picture"]["prototypes"]
    assert "nearest training row" in header["scene"]["view"]["note"]
    context = resolve(Choice(data="words", method=method))
    model = context.model()
    texts = [w.partition(": ")[2] for w in prototypes["words"]]
    assert prototypes["weights"] is None and len(set(texts)) == model.n_prototypes
    assert all(set(text) <= set("ACGT") and text for text in texts)
    training = set(WORDS.frame["word"].iloc[context.data.split.train])
    assert any("GATTAC" in text or "CCGCGG" in text for text in texts)
    assert not set(texts) <= training  # some are invented
    x, y = header["scene"]["points"]["row"], picture["predicted"]
    np.testing.assert_array_equal(model.classes[y], model.predict(context.data.X[x]))
    direct = SuperSparseClassifier(similarity="strings")
    direct.fit(*context.data.of("train"))
    np.testing.assert_array_equal(direct.model_.anchors, model.anchors)


def test_a_text_is_typed_and_answered():
    query = {"data": "words", "p.prototypes_section": "Why this prediction"}
    page = opened(query, "prototypes.py")
    (typed,) = [one for one in page.text_input if one.label == "word"]
    sound(typed.set_value("ACGATTACA").run())
    assert "You edited this row" in said(page)
    assert any("Prediction: **2**" in text.value for text in page.markdown)
    words = said(opened({"data": "words"}, "export.py"))
    assert "cannot be exported" in words and "run the model in Python" in words


def test_sequences_alone_are_read_as_text_and_offered_beside_numbers():
    draw = np.random.default_rng(0)
    sequences = ["".join(draw.choice(list("ACGT"), 12)) for _ in range(60)]
    frame = pd.DataFrame({"promoter": sequences, "class": draw.choice(["a", "b"], 60)})
    page = bring(opened({}, "data.py"), frame.to_csv(index=False), "s.csv")
    dataset = resolve(session_of(page).choice).dataset
    assert dataset.private and dataset.kinds["promoter"] == "text"
    assert dataset.roles["promoter"] == "feature"
    assert "'promoter' is read as text (letters A, C, G, T)" in said(page)
    beside = make_dataset(frame.assign(x=draw.normal(size=60)), "t")
    assert beside.roles["promoter"] == "ignore"
    (notice,) = [one for one in beside.notices if "promoter" in one]
    assert "as a feature read as text" in notice
    names = frame.assign(promoter=[f"n{i}" for i in range(60)])
    assert make_dataset(names, "t").roles["promoter"] == "ignore"


def test_a_column_of_a_file_is_read_as_text():
    page = opened({}, "data.py")
    csv = WORDS.frame.to_csv(index=False).encode()
    bring(page, csv, "w.csv")
    edited = {"edited_rows": {0: {"role": "feature", "read as": "text"}}}
    edited |= {"added_rows": [], "deleted_rows": []}
    page.session_state[page.data_editor[0].key] = edited
    sound(page.run())
    choice = session_of(page).choice
    context = resolve(choice)
    assert context.dataset.kinds["word"] == "text" and context.dataset.private
    assert list(context.methods) == ABLE
    sound(page.selectbox(key="clean_column").select("word").run())
    sound(page.switch_page("pages/apply.py").run())
    assert "It should have this column" in said(page)
    (column,) = page.dataframe[0].value.to_dict("records")
    assert column["holds"] == "texts"
    assert column["in training"] == "letters A, C, G, T; at most 12 of them"
    new = WORDS.frame.head(6).assign(word=lambda f: f["word"] + "A")
    bring(page, new.to_csv(index=False), "n.csv")
    assert metrics(page)["Rows"] == "6" and not page.error
