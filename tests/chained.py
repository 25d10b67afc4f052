"""Tables of transitions for tests of the transition model, and its law written out densely."""

import numpy as np
import pandas as pd

import fourcorner as fc

SPEC = """
kind = "scores"
title = "Steps"
[data]
score = "margin"
unit = "task"
transition = "step"
change = {{ column = "state", before = "before", after = "after" }}
channel = {{ view = ["direct", "generated"] }}
{data}
attributes = ["kind"]
[estimands]
direct = {{ gain = {{ view = "direct" }} }}
generated = {{ gain = {{ view = "generated" }} }}
omega = {{ omega = {{ view = ["direct", "generated"] }} }}
middle = {{ omega = {{ view = ["direct", "generated"] }}, statistic = "median" }}
edits = {{ omega = {{ view = ["direct", "generated"] }}, where = {{ kind = "edit" }} }}
[weights]
empirical = "empirical"
equal = "equal"
[model]
family = "transitions"
{model}
[sampler]
seed = 3
{sampler}
"""
CHAINED = 'endpoint = "endpoint"\nstratum = "target"'
VIEWS = ("direct", "generated")


def spec(data=CHAINED, model="", sampler=""):
    return fc.parse_spec(SPEC.format(data=data, model=model, sampler=sampler))


def table(ends, kinds, targets, shared=True):
    """Rows of units given by endpoints: a list of (endpoints, views) arrays, one for each unit.

    `kinds` has the kinds of each unit's steps. NaN is a blank score.
    """
    rows = []
    for i, (values, steps) in enumerate(zip(ends, kinds, strict=True)):
        for t, kind in enumerate(steps):
            for side, state in enumerate(("before", "after")):
                for k, view in enumerate(VIEWS):
                    name = f"e{t + side}" if shared else f"e{t}{state}"
                    rows.append(
                        (f"u{i:03d}", f"s{t:02d}", kind, targets[i], name, state, view,
                         values[t + side, k])
                    )  # fmt: skip
    columns = ["task", "step", "kind", "target", "endpoint", "state", "view", "margin"]
    return pd.DataFrame(rows, columns=columns)


def law(kinds, unit, noise, white, persistence):
    """Covariance of one chain's endpoints × views, entry by entry."""
    size = len(kinds) + 1
    found = np.empty((size, 2, size, 2))
    for e in range(size):
        for f in range(size):
            between = kinds[min(e, f) : max(e, f)]
            shared = np.prod([persistence[kind] for kind in between])
            for k in range(2):
                for m in range(2):
                    lasting = (1 - white) * noise[k, m] * shared
                    found[e, k, f, m] = unit[k, m] + lasting + (e == f) * white * noise[k, m]
    return found.reshape(2 * size, 2 * size)
