"""A page with nothing but the live figure, fed with small linear models made here.

``?scene=toy|table|digits|many`` picks the data, ``?delay=ms`` slows every answer down,
``?silent=n`` leaves the n-th message without an answer, ``?large=1`` answers drags
without a picture. Way D is a method without a path and without weights.
``?cases=stars|mixes`` makes prototypes invented cases, or mixes of real ones.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import streamlit as st

sys.path.insert(0, str(Path(__file__).parents[2]))
from pages.ui.canvas import figure_script, live_figure
from smpcore.live import pack

HOSTILE = ["<img src=x onerror='window.hacked=1'>", '"; */ </script><b>', "α" * 300]
PATH = [0.0, *np.geomspace(0.001, 1, 30)]
NODES = 100
SIZES = {"toy": (2, 2, 4), "table": (3, 12, 6), "digits": (10, 64, 20)}
SIZES["many"] = (26, 14, 26)


def start(kind: str) -> dict:
    """Points, prototypes and controls of a scene."""
    n_classes, d, n = SIZES[kind]
    rng = np.random.default_rng(4)
    rows = {"toy": 160, "table": 300, "digits": 900, "many": 690}[kind]
    label = rng.integers(0, n_classes, rows)
    angle = 2 * np.pi * label / n_classes
    ring = np.c_[np.cos(angle), np.sin(angle)] * 1.6
    xy = ring + rng.normal(scale=0.6, size=(rows, 2))
    if kind == "toy":
        xy = xy * [0.45, 0.9] + np.c_[0 * label, 0.9 * np.cos(3 * xy[:, 0])]
    basis = np.eye(2) if d == 2 else np.linalg.qr(rng.normal(size=(d, 2)))[0].T
    owner = np.arange(n) % n_classes
    turn = 2 * np.pi * owner / n_classes + rng.normal(scale=0.35, size=n)
    weights = np.c_[np.cos(turn), np.sin(turn)] @ basis
    weights += rng.normal(scale=0.25, size=weights.shape) * (d > 2)
    weights[-1] *= 0.5  # all zeros at the end of the path
    return {
        "kind": kind,
        "points": {
            "x": xy[:, 0].astype("f4"),
            "y": xy[:, 1].astype("f4"),
            "label": label.astype("u1"),
            "part": rng.choice(3, rows, p=[0.6, 0.2, 0.2]).astype("u1"),
            "row": np.arange(rows, dtype="i4"),
            "number": np.arange(1, rows + 1, dtype="i4"),
        },
        "basis": basis,
        "owner": owner,
        "weights": weights,
        "bias": rng.normal(scale=0.15, size=n),
        "values": {"method": "a", "lam": 0.01, "mu": 0.1, "n": n, "bias": True},
        "seq": 0,
        "edits": 0,
        "heard": [],
    }


def scene_of(state: dict) -> dict:
    n_classes, d, _ = SIZES[state["kind"]]
    names = ["inner", "outer"] if n_classes == 2 else [str(k) for k in range(n_classes)]
    features = [f"feature {i + 1}" for i in range(d)]
    if state["kind"] == "table":
        names, features[:3] = HOSTILE, HOSTILE
        for i in range(3, d):
            features[i] = f"treatment after the diagnosis, as said = level {i + 1}"
    if state["kind"] == "many":
        names = [f"letter {chr(65 + k)}, written by hand" for k in range(n_classes)]
    return {
        "id": f"{state['kind']}-{state['edits']}",
        "title": state["kind"],
        "classes": names,
        "editable": d == 2,
        "parts": ["training", "validation", "test"],
        "points": state["points"],
        "shown_of": [len(state["points"]["x"])] * 2,
        "view": {
            "x": [-3.2, 3.2],
            "y": [-3.2, 3.2],
            "xlabel": "x1" if d == 2 else "first principal axis (41 %)",
            "ylabel": "x2" if d == 2 else "second principal axis (22 %)",
            "note": "" if d == 2 else "Standardised; a plane of principal axes.",
        },
        "image": [8, 8] if state["kind"] == "digits" else None,
        "features": features,
        "path": None
        if state["values"]["method"] == "d"
        else {
            **{"param": "lam", "values": PATH, "from_right": True},
            **{"score": "Accuracy", "count": "non-zeros"},
        },
        "alt": f"Decision regions of {names[0] if d == 2 else 'classes'} and points",
    }


def model(state: dict, lam: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights shrunk by lam, and their scores' coefficients in the plane."""
    weights = state["weights"][: int(state["values"]["n"])]
    bias = state["bias"][: len(weights)] * bool(state["values"]["bias"])
    shrunk = np.sign(weights) * np.maximum(np.abs(weights) - 0.6 * lam, 0)
    shrunk *= 1 - 0.5 * state["values"]["mu"]
    return shrunk, np.c_[shrunk @ state["basis"].T, bias]


def picture_of(state: dict, lam: float, canonical: bool = True) -> dict:
    started = time.perf_counter()
    n_classes, d, _ = SIZES[state["kind"]]
    weights, coef = model(state, lam)
    owner = state["owner"][: len(weights)]
    line = np.linspace(-3.2, 3.2, NODES)
    grid = np.stack(np.meshgrid(line, line), -1).reshape(-1, 2)

    def scores(xy: np.ndarray) -> np.ndarray:
        each = np.c_[xy, np.ones(len(xy))] @ coef.T
        best = np.full((len(xy), n_classes), -1e9)
        for k in np.unique(owner):
            best[:, k] = each[:, owner == k].max(1)
        return best

    raster = scores(grid)
    order = np.argsort(-raster, 1, kind="stable")[:, :2]
    gap = np.diff(-np.take_along_axis(raster, order, 1), axis=1)[:, 0]
    most = max(float(gap.max()), 1e-9)
    points = state["points"]
    predicted = scores(np.c_[points["x"], points["y"]]).argmax(1)
    right = predicted == points["label"]
    share = {
        name: float(right[points["part"] == part].mean())
        for part, name in enumerate(("training", "validation"))
    }
    nonzeros = int((weights != 0).sum())
    hollow = np.zeros(len(predicted), "u1")
    if d > 2:
        hollow[::6] = 1
    plane = (NODES, NODES)
    prototypes = {
        "weights": weights.astype("f4"),
        "owner": owner.astype("u1"),
        "count": (1 + (owner == 0)).astype("i4"),
        "bias": coef[:, 2].astype("f4"),
        "caption": "A prototype is a direction: a weight for each feature.",
    }
    lines = {"coef": coef.astype("f4"), "owner": owner.astype("u1"), "tie": 0.0}
    if state["values"]["method"] == "d":
        made = np.flatnonzero(points["part"] == 0)[::7]
        prototypes |= {
            "weights": None,
            "size": np.arange(3, 3 + len(owner)),
            "marks": np.c_[points["x"][made], points["y"][made]],
            "marks_label": "training row used in prototypes",
            "caption": "A prototype is a mix of real training rows, which are ringed.",
        }
        lines = None
    cases = st.query_params.get("cases")
    if cases:
        more = {"stars": stars_of, "mixes": mixes_of}[cases](state, weights, owner)
        prototypes |= more
        lines = None
    return {
        "bars": bars_of(state, weights, owner) if cases else None,
        "knot": PATH.index(lam) if lam in PATH else None,
        "value": lam,
        "canonical": canonical,
        "chain": str([state["edits"], {**state["values"], "lam": None}]),
        "ms": 1000 * (time.perf_counter() - started),
        "grid": list(plane),
        "winner": order[:, 0].astype("u1").reshape(plane),
        "runner": order[:, 1].astype("u1").reshape(plane),
        "margin": np.rint(255 * np.sqrt(gap / most)).astype("u1").reshape(plane),
        "margin_max": most,
        "lines": lines,
        "predicted": predicted.astype("u1"),
        "hollow": hollow,
        "own_share": float(1 - hollow.mean()),
        "prototypes": prototypes,
        "readouts": [
            {
                "key": f"{name}_accuracy",
                "name": f"{name.title()} accuracy",
                "value": f"{100 * value:.1f} %",
                "detail": f"{int(right.sum())} of {len(right)} rows, 95 % interval "
                "74–97 %; balanced accuracy 90.0 % (80–95 %); "
                "majority-class baseline: 50 %",
            }
            for name, value in share.items()
        ]
        + [
            {"key": key, "name": name, "value": value, "detail": detail}
            for key, name, value, detail in (
                ("n_nonzeros", "Non-zeros", str(nonzeros), "of all weights"),
                ("n_prototypes", "Prototypes", f"{len(weights)}", "0 merged"),
            )
        ][int(lam > 0.5) :],
        "strip": {**share, "nonzeros": nonzeros},
    }


def stars_of(state: dict, weights: np.ndarray, owner: np.ndarray) -> dict:
    """Invented cases along the ring; the last one lies off the data."""
    turn = 2 * np.pi * np.arange(len(owner)) / len(owner)
    marks = 1.9 * np.c_[np.cos(turn), np.sin(turn)]
    size = np.linalg.norm(weights, axis=1)
    return {
        "noun": "value",
        "marks": marks.round(3).astype("f4"),
        "marks_label": "prototype (invented case)",
        "size": np.ones(len(owner), "i4"),
        "mark_size": (size / (size.max() or 1)).astype("f4"),
        "mark_weight": voices(weights, owner).astype("f4"),
        "mark_owner": owner.astype("u1"),
        "mark_off": (np.arange(len(owner)) == len(owner) - 1).astype("u1"),
        "mark_start": (0.4 * marks).round(3).astype("f4"),
        "caption": "A prototype is an invented case.",
    }


def mixes_of(state: dict, weights: np.ndarray, owner: np.ndarray) -> dict:
    """Prototype j mixes the rows j to j + 4 of the table, the first with half."""
    n, (_, d, _) = len(owner), SIZES[state["kind"]]
    row = (np.arange(n)[:, None] + np.arange(5)).astype("i4")
    row[:, 4][owner == 0] = -1
    pixels = (np.arange(n * 5 * d) % 256).astype("u1").reshape(n, 5, d)
    label = state["points"]["label"][row]
    cases = {
        "row": row,
        "share": np.tile(np.array([0.5, 0.2, 0.15, 0.1, 0.05], "f4"), (n, 1)),
        "label": label.astype("u1"),
        "pixels": pixels if state["kind"] == "digits" else None,
    }
    return {"weights": None, "size": np.arange(4, 4 + n), "cases": cases}


def voices(weights: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """A weight of each prototype, negative for the first class."""
    return np.abs(weights).sum(1) * np.where(owner == 0, -1, 1)


def bars_of(state: dict, weights: np.ndarray, owner: np.ndarray) -> dict:
    values = voices(weights, owner)
    shown = np.argsort(-np.abs(values), kind="stable")[:12]
    return {
        "title": "Weights of the cases",
        "names": [f"{j + 1} · case" for j in shown],
        "values": values[shown].astype("f4"),
        "owner": owner[shown].astype("u1"),
        "note": f"and {len(owner) - len(shown)} more; a sentence that explains them",
    }


def controls_of(state: dict) -> list[dict]:
    def control(name: str, label: str, scale: str, **more: object) -> dict:
        common = {"group": "method", "low": 0, "high": 1, "zero": False, "options": []}
        common |= {"advanced": False, "scrub": False, "shown": True, "marks": []}
        common |= {"help": f"What {label} does, in a sentence or two of plain words."}
        common |= {"name": name, "label": label, "scale": scale}
        return common | {"value": state["values"].get(name)} | more

    options = [{"value": v, "label": f"Way {v.upper()}"} for v in "abcd"]
    many = [{"value": v, "label": f"Data set {v}"} for v in range(9)]
    marks = [{"value": 1.0, "text": "all merged"}]
    rows = [
        control("data", "Data set", "choice", group="data", options=many, value=2),
        control("method", "Loss", "choice", options=options),
        control("lam", "Fusion λ", "log", low=0.001, high=1, zero=True, scrub=True)
        | {"marks": marks},
        control("mu", "Sparsity μ", "log", low=0.01, high=1.0),
        control("n", "Prototypes", "int", low=2, high=SIZES[state["kind"]][2]),
        control("bias", "Bias", "flag", advanced=True),
        control("secret", "Hidden", "linear", shown=False, value=0.5),
    ]
    if state["kind"] != "many":
        return rows
    kinds = [{"value": v, "label": v} for v in ("main plane", "two features")]
    kind = control("v.kind", "Picture of", "choice", group="view", options=kinds)
    slices = [
        control(f"v.at{i}", f"standing feature {i + 1}", "linear", group="view")
        | {"value": state["values"].get(f"v.at{i}", 0.5)}
        for i in range(12)
    ]
    more = [
        control(f"p{i}", f"Parameter {i + 1} of the method", "log", low=0.01)
        | {"value": state["values"].get(f"p{i}", 0.1)}
        for i in range(7)
    ]
    return [*rows, *more, kind | {"value": "two features"}, *slices]


def edit(state: dict, message: dict) -> None:
    points = {name: array.copy() for name, array in state["points"].items()}
    state.setdefault("undo", [])
    if message["op"] == "undo":
        state["points"] = state["undo"].pop() if state["undo"] else points
    else:
        gesture = message["op"], message["row"]
        if state.get("gesture") != gesture:
            state["undo"].append(state["points"])
        state["gesture"] = gesture if message["dragging"] else None
        at = points["row"] == message["row"]
        if message["op"] == "move":
            points["x"][at], points["y"][at] = message["x"], message["y"]
        elif message["op"] == "erase":
            at = np.zeros(len(points["x"]), dtype=bool)
            for x, y in message["places"]:
                same = (points["x"] == x) & (points["y"] == y) & ~at
                at[np.flatnonzero(same)[-1:]] = True
            points = {name: array[~at] for name, array in points.items()}
            points["row"] = np.arange(len(points["row"]), dtype="i4")
            points["number"] = points["row"] + 1
        else:
            for x, y in message["places"] or [(message["x"], message["y"])]:
                new = {"x": x, "y": y, "label": message["label"], "part": 0}
                new["row"] = points["row"].max() + 1
                new["number"] = new["row"] + 1
                points = {
                    name: np.append(array, array.dtype.type(new[name]))
                    for name, array in points.items()
                }
        state["points"] = points
    state["edits"] += 1


def slow_fit(state: dict, message: dict) -> bytes | None:
    """Way C takes four looks, or one press of Stop."""
    if state["values"]["method"] != "c" or message["kind"] not in ("set", "poll"):
        return None
    state["looks"] = 0 if message["kind"] == "set" else state["looks"] + 1
    if state["looks"] > 3:
        return None
    job = {"text": "Fitting Way C", "progress": state["looks"] / 4, "seconds": 1.2}
    notices = [{"level": "warning", "text": "Way C takes long."}]
    header = {"v": 1, "seq": message["seq"], "kind": "picture", "busy": 5}
    header["path"] = scene_of(state)["path"]
    if message["have"] != scene_of(state)["id"]:
        header |= {"kind": "full", "scene": scene_of(state)}
    return pack(
        header | {"job": job, "notices": notices, "controls": controls_of(state)}
    )


def answer(state: dict, message: dict | None) -> bytes:
    header: dict = {"v": 1, "busy": 0, "notices": []}
    state["heard"].append(message)
    if message and message.get("values", {}).get("data") == 8:
        error = {"level": "error", "text": "Data set 8 is not here; choose another."}
        header |= {"seq": message["seq"], "kind": "notice", "notices": [error]}
        return pack(header)
    if message and message["kind"] == "knots":
        knots = [picture_of(state, PATH[i]) for i in message["want"]]
        if state["values"]["mu"] == 1:  # as if a newer scene were there already
            knots = [knot | {"chain": "another"} for knot in knots]
        header |= {"kind": "knots", "knots": knots}
    elif message and message["kind"] == "select":
        rows = np.array(message["want"], "i4")
        few = {"features": ["x"], "means": [[0.5, None]]}
        few |= {"rows": rows, "values": rows[:100, None].astype("f4")}
        header |= {"kind": "select", "selection": few}
    else:
        if message and message["kind"] == "set":
            if message["values"].get("data") == 7:  # digits; their first fit is slow
                kept = {name: state[name] for name in ("edits", "seq", "heard")}
                state |= start("digits") | kept
                state["values"]["method"] = "c"
            state["values"].update(message["values"])
        if message and message["kind"] == "edit":
            edit(state, message)
        if message and (waiting := slow_fit(state, message)):
            return waiting
        canonical = not (message and message.get("dragging"))
        header["kind"] = "picture"
        if canonical or "large" not in st.query_params:
            picture = picture_of(state, state["values"]["lam"], canonical)
            header["picture"] = picture
        header["path"] = scene_of(state)["path"]
    if not message or message["have"] != scene_of(state)["id"]:
        header |= {"scene": scene_of(state)}
        header["kind"] = "full" if header["kind"] == "picture" else "knots"
    state["seq"] = header["seq"] = message["seq"] if message else state["seq"]
    undo = "the last edit" if state.get("undo") else ""
    return pack(header | {"controls": controls_of(state), "undo": undo})


@st.fragment
def figure() -> None:
    kind = st.query_params.get("scene", "toy")
    state = st.session_state.setdefault("state", start(kind))
    message = (st.session_state.get("figure") or {}).get("msg")
    quiet = int(st.query_params.get("silent", -1)) == len(state["heard"])
    if quiet:
        state["heard"].append(message)
    if not quiet:
        time.sleep(int(st.query_params.get("delay", 0)) / 1000)
        state["payload"] = answer(state, message)
    live_figure(state["payload"], key="figure")
    heard = [m for m in state["heard"] if m and m["kind"] != "knots"]
    seen = {"heard": heard[-1:], "n": len(heard), "points": len(state["points"]["x"])}
    st.code(json.dumps(seen))


if __name__ == "__main__":
    st.set_page_config(layout="wide")
    st.html(
        "<style>.stMainBlockContainer { padding: 3.5rem 1.5rem 2rem }"
        "@media (max-width: 640px) { .stMainBlockContainer { padding: 3.5rem .6rem } }"
        "</style>"
    )
    figure()
    figure_script()
    st.button("Run the page again")
