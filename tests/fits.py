"""Fits that several test files share: each is compiled and sampled once in a session."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

import chained
import fourcorner as fc
from fourcorner.auditing import Audit
from fourcorner.comparing import Comparison

REPO = Path(__file__).parents[1]
CUBE = REPO / "models" / "retrieval_cube.toml"

FACE = """
kind = "scores"
title = "A simulated face"
[data]
score = "margin"
unit = "task"
change = {{ column = "state", before = "before", after = "after" }}
channel = {{ view = ["direct", "generated"] }}
{stratum}
{replicate}
[estimands]
direct = {{ gain = {{ view = "direct" }} }}
generated = {{ gain = {{ view = "generated" }} }}
omega = {{ omega = {{ view = ["direct", "generated"] }} }}
middle = {{ omega = {{ view = ["direct", "generated"] }}, statistic = "median" }}
[weights]
empirical = "empirical"
{weights}
{model}
[sampler]
seed = 7
"""
STRATA = {"small": 30, "large": 70}
# native means of (before, after) × (direct, generated), by stratum
TRUTH = {
    "small": np.array([[0.0, 0.4], [1.0, 0.2]]),
    "large": np.array([[0.2, 0.5], [0.9, 0.1]]),
}
RETRY_SD = 0.8
LOST = 0.1
SPREAD = np.array(
    [[1.0, 0.6, 0.5, 0.3], [0.6, 1.2, 0.4, 0.5], [0.5, 0.4, 1.1, 0.6], [0.3, 0.5, 0.6, 1.3]]
)


class Fitted(NamedTuple):
    """A spec, its scores and the audit of them."""

    spec: fc.Spec
    data: xr.Dataset
    audit: Audit

    @property
    def tree(self) -> xr.DataTree:
        assert self.audit.tree is not None
        return self.audit.tree


@cache
def cube() -> Fitted:
    """The bundled cube, as `fourcorner demo` runs it."""
    spec = fc.read_spec(CUBE)
    data = fc.read_scores(spec)
    return Fitted(spec, data, fc.audit(data, spec))


def face_table(seed: int = 3, strata: dict[str, int] = STRATA) -> pd.DataFrame:
    """Normal scores of a 2 × 2 face with known stratum means and one covariance of units."""
    generator = np.random.default_rng(seed)
    rows = []
    for stratum, size in strata.items():
        drawn = generator.multivariate_normal(TRUTH[stratum].ravel(), SPREAD, size)
        for i, values in enumerate(drawn.reshape(size, 2, 2)):
            for s, state in enumerate(("before", "after")):
                for v, view in enumerate(("direct", "generated")):
                    rows.append((f"{stratum}{i:03d}", stratum, state, view, values[s, v]))
    return pd.DataFrame(rows, columns=["task", "target", "state", "view", "margin"])


def face_spec(strata: bool = True, waves: bool = False) -> fc.Spec:
    """The spec of a simulated face, with or without strata; with waves, of the observed cohort."""
    stratum = 'stratum = "target"' if strata else ""
    weights = 'equal = "equal"' if strata else ""
    replicate = 'replicate = { wave = ["w1", "w2", "w3"] }' if waves else ""
    model = '[model]\ncohort = "observed"\nrope = 0.1' if waves else ""
    parts = {"stratum": stratum, "weights": weights, "replicate": replicate, "model": model}
    return fc.parse_spec(FACE.format(**parts))


@cache
def face() -> Fitted:
    """A simulated normal face with two strata."""
    spec = face_spec()
    data = fc.read_scores(spec, face_table())
    return Fitted(spec, data, fc.audit(data, spec))


HEAVY = 4.0  # degrees of freedom of the heavy-tailed face
TAIL = 1.2  # sd of the logs of what skews a face


def heavy_table(seed: int = 11, skewed: bool = False) -> pd.DataFrame:
    """The face with t units about the same truth; skewed by a long tail of one cell, mean zero."""
    generator = np.random.default_rng(seed)
    rows = []
    for stratum, usual in STRATA.items():
        size = 4 * usual if skewed else usual  # a long tail says little in a hundred units
        weight = np.ones(size) if skewed else generator.chisquare(HEAVY, size) / HEAVY
        drawn = generator.multivariate_normal(np.zeros(4), SPREAD, size)
        values = TRUTH[stratum].ravel() + drawn / np.sqrt(weight)[:, None]
        if skewed:
            values[:, 3] += np.exp(TAIL * generator.standard_normal(size)) - np.exp(TAIL**2 / 2)
        for i, cells in enumerate(values.reshape(size, 2, 2)):
            for s, state in enumerate(("before", "after")):
                for v, view in enumerate(("direct", "generated")):
                    rows.append((f"{stratum}{i:03d}", stratum, state, view, cells[s, v]))
    return pd.DataFrame(rows, columns=["task", "target", "state", "view", "margin"])


def heavy_spec() -> fc.Spec:
    """The spec of a face under the Student family."""
    return fc.parse_spec(face_spec().text + '\n[model]\nfamily = "student"\n')


@cache
def heavy() -> Fitted:
    """A face whose units are t about two strata, under the Student family."""
    spec = heavy_spec()
    data = fc.read_scores(spec, heavy_table())
    return Fitted(spec, data, fc.audit(data, spec))


@cache
def skewed() -> Comparison:
    """Both cell families on a face that is skewed; nothing is compiled that others have not."""
    spec = face_spec()
    return fc.compare(fc.read_scores(spec, heavy_table(12, skewed=True)), spec, refits=0)


@cache
def unstratified() -> Fitted:
    """The same scores without strata."""
    spec = face_spec(strata=False)
    data = fc.read_scores(spec, face_table())
    return Fitted(spec, data, fc.audit(data, spec))


def retried_table(seed: int = 5, strata: dict[str, int] = STRATA) -> pd.DataFrame:
    """The face in three waves with retry noise, a tenth of its cells missing at random."""
    table = face_table(seed, strata)
    generator = np.random.default_rng([seed, 1])
    table = table[generator.random(len(table)) > LOST]
    waves = [table.assign(wave=wave) for wave in ("w1", "w2", "w3")]
    found = pd.concat(waves, ignore_index=True)
    noise = RETRY_SD * generator.standard_normal(len(found))
    return found.assign(margin=found["margin"] + noise)


@cache
def retried() -> Fitted:
    """The observed cohort of a face with waves and missing cells."""
    spec = face_spec(waves=True)
    data = fc.read_scores(spec, retried_table())
    return Fitted(spec, data, fc.audit(data, spec))


STEP_KINDS = [("plan", "edit", "test"), ("plan", "edit", "test", "edit")]
STEP_STRATA = {"a": 60, "b": 30}
STEP_UNIT = np.array([[1.0, 0.4], [0.4, 1.5]])
STEP_NOISE = np.array([[0.8, -0.3], [-0.3, 1.2]])
STEP_WHITE, STEP_LASTS = 0.3, {"edit": 0.9, "test": 0.4, "plan": 0.7}
# level and step of each kind, by view; the second stratum's are other by STEP_SHIFT
STEP_MOVES = {
    "level": (1.0, 2.0), "edit": (0.5, -0.2), "plan": (0.1, 0.0), "test": (-0.3, 0.6),
}  # fmt: skip
STEP_SHIFT = {"level": 0.5, "edit": 0.0, "plan": 0.2, "test": 0.4}


def steps_table(seed: int = 4, lost: float = 0.05) -> pd.DataFrame:
    """Chains of two lengths with a known law, endpoints missing at random."""
    generator = np.random.default_rng(seed)
    ends, kinds, targets = [], [], []
    for target, size in STEP_STRATA.items():
        for i in range(size):
            steps = STEP_KINDS[i % 2]
            moves = ["level", *steps]
            gains = [np.add(STEP_MOVES[m], STEP_SHIFT[m] * (target == "b")) for m in moves]
            law = chained.law(steps, STEP_UNIT, STEP_NOISE, STEP_WHITE, STEP_LASTS)
            noise = generator.multivariate_normal(np.zeros(len(law)), law).reshape(-1, 2)
            values = np.cumsum(gains, axis=0) + noise
            values[generator.random(values.shape) < lost] = np.nan
            ends.append(values)
            kinds.append(steps)
            targets.append(target)
    return chained.table(ends, kinds, targets)


@cache
def steps() -> Fitted:
    """The transition model of simulated chains with two strata."""
    spec = chained.spec(model='step = "kind"', sampler="draws = 500\ntune = 500")
    data = fc.read_scores(spec, steps_table())
    return Fitted(spec, data, fc.audit(data, spec, draws=500))
