"""Score tables made for tests of the design engine, and the engine's rows of them."""

import itertools
import math
import random
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from hypothesis import assume
from hypothesis import strategies as st

from fourcorner import names, scores
from fourcorner.design import engine
from fourcorner.estimands import Estimand
from fourcorner.spec import parse_spec
from fourcorner.weights import resolve_all

EMPIRICAL = {"empirical": "empirical"}
LEVELS = {"view": "abc", "authority": "xy", "layout": "LMN", "wave": "12"}
STRATA = ("s0", "s1", "s2")


class Table(NamedTuple):
    """A score table with the levels that its spec declares."""

    frame: pd.DataFrame
    channel: dict
    replicate: dict
    attributes: tuple = ()

    def read(self):
        lists = {
            part: ", ".join(f'"{name}" = {list(known)}' for name, known in factors.items())
            for part, factors in (("channel", self.channel), ("replicate", self.replicate))
        }
        fixed = ", ".join(f'"{name}" = "{known[0]}"' for name, known in self.channel.items())
        spec = parse_spec(
            f"""
            kind = "scores"
            [data]
            score = "margin"
            unit = "task"
            transition = "step"
            stratum = "target"
            attributes = {list(self.attributes)}
            change = {{ column = "phase", before = "start", after = "end" }}
            channel = {{ {lists["channel"]} }}
            replicate = {{ {lists["replicate"]} }}
            [estimands]
            any = {{ gain = {{ {fixed} }} }}
            """
        )
        return scores.read_scores(spec, self.frame)

    def dataset(self):
        """What reading makes of it, put together here: a cheap way in for properties."""
        frame = self.frame.sort_values(["task", "step"], kind="stable")
        owners = frame.drop_duplicates(["task", "step"])
        dims = {"phase": ("start", "end"), **self.channel, **self.replicate}
        keys = list(zip(owners["task"], owners["step"], strict=True))
        shape = [len(keys), *(len(known) for known in dims.values())]
        dense = np.full(shape, np.nan)
        codes = [frame[name].map(known.index) for name, known in dims.items()]
        owner = [keys.index(key) for key in zip(frame["task"], frame["step"], strict=True)]
        dense[(owner, *codes)] = frame["margin"]
        levels = {**self.channel, **self.replicate}
        named = {
            "state": ["before", "after"],
            **{name: list(known) for name, known in levels.items()},
        }
        along = {"unit": "task", "transition_id": "step", "stratum": "target"}
        along |= {name: name for name in self.attributes}
        return dataset(
            dense,
            named,
            {name: owners[column].to_numpy(str) for name, column in along.items()},
            list(self.replicate),
        )


def dataset(dense, levels, along, replicates=()):
    """A scores Dataset from an array and the coordinates of its transitions."""
    dims = ("transition", *levels)
    coords = {**levels, **{name: ("transition", values) for name, values in along.items()}}
    return xr.Dataset(
        {"score": (dims, dense), "present": (dims, np.isfinite(dense))},
        coords=coords,
        attrs={"replicates": "\n".join(replicates)},
    )


def estimate(table, estimands, weights=EMPIRICAL, **options):
    """Rows of the engine by (name, statistic, weights), of a Table or of a scores Dataset."""
    data = table.dataset() if isinstance(table, Table) else table
    asked = resolve_all(weights, scores.strata(data))
    rows = engine.estimate(engine.sample(data), estimands, asked, **options)
    return {(row.name, row.statistic, row.weights): row for row in rows}


def one(table, contrast, statistic=names.MEAN, weights=EMPIRICAL, **options):
    """The only row of one estimand under one mixture."""
    (row,) = estimate(table, [Estimand("asked", contrast, statistic)], weights, **options).values()
    return row


def simple(rows, replicate=None):
    """A table with one channel factor from rows (task, target, step, phase, view, …, margin)."""
    columns = ["task", "target", "step", "phase", "view", *(replicate or {}), "margin"]
    frame = pd.DataFrame(rows, columns=columns)
    return Table(frame, {"view": ("a", "b")}, replicate or {})


def from_gains(gains):
    """A table whose only gains are those listed: (task, target, gain at view a), zero at view b."""
    rows = []
    for step, (task, target, gained) in enumerate(gains):
        about = (task, target, step)
        rows += [(*about, "start", "a", 0.0), (*about, "end", "a", gained)]
        rows += [(*about, "start", "b", 0.0), (*about, "end", "b", 0.0)]
    return simple(rows)


@st.composite
def tables(draw, most_units=6):
    """Ragged transitions, missing layouts and corners, blanks, small strata, rows in any order.

    Scores are whole tenths, so that the naive side can be exact.
    """
    channel = {"view": tuple("abc"[: draw(st.integers(2, 3))])}
    if draw(st.booleans()):
        channel["authority"] = ("x", "y")
    replicate = {
        name: tuple(LEVELS[name][: draw(st.integers(2, 3)) if name == "layout" else 2])
        for name in ("layout", "wave")[: draw(st.integers(0, 2))]
    }
    units = draw(st.integers(2, most_units))
    steps = draw(st.lists(st.integers(1, 3), min_size=units, max_size=units))
    strata = draw(st.lists(st.sampled_from(STRATA), min_size=units, max_size=units))
    lost, blank = (draw(st.sampled_from([0.0, 0.02, 0.1])) for _ in range(2))
    scored = list(itertools.product(("start", "end"), *channel.values()))
    never = draw(st.sampled_from([*(None for _ in scored), *scored]))
    generator = random.Random(draw(st.integers(0, 2**32)))
    rows = []
    for unit, (count, target) in enumerate(zip(steps, strata, strict=True)):
        for step in range(count):
            about = (f"u{unit + 8}", target, f"t{step}")
            for corner, copy in itertools.product(scored, itertools.product(*replicate.values())):
                if corner != never and generator.random() >= lost:
                    tenths = generator.choice([0, 0, *range(-9, 10)])
                    score = math.nan if generator.random() < blank else tenths / 10
                    rows.append((*about, *corner, *copy, score))
    generator.shuffle(rows)
    columns = ["task", "target", "step", "phase", *channel, *replicate, "margin"]
    frame = pd.DataFrame(rows, columns=columns)
    assume(len(set(frame["task"])) > 1)
    every = {"phase": ("start", "end"), **channel, **replicate}
    assume(all(set(frame[name]) == set(known) for name, known in every.items()))
    varies = [frame.groupby("task")[name].nunique().max() > 1 for name in replicate]
    assume(all(varies))
    return Table(frame, channel, replicate)
