"""A small synthetic score table for the commented starter spec.

Invariant: the table has every column that `starters/scores.toml` names. Pinned by
`tests/test_cli.py`.
"""

import numpy as np
import pandas as pd

UNITS = 40


def generate(seed: int = 1) -> pd.DataFrame:
    """Scores of 40 tasks before and after a change, through two views and two layouts.

    Parameters
    ----------
    seed : int

    Returns
    -------
    pandas.DataFrame
        Columns task, target, state, view, layout, margin.
    """
    generator = np.random.default_rng(seed)
    gains = {"direct": 0.6, "generated": -0.3}
    rows = []
    for unit in range(UNITS):
        target = "yes" if unit % 3 else "no"
        level, helped = generator.standard_normal(2)
        for view, gain in gains.items():
            reach = gain + 0.5 * helped + 0.4 * generator.standard_normal()
            for state, moved in (("before", 0.0), ("after", reach)):
                for layout in ("L0", "L1"):
                    margin = level + moved + 0.2 * generator.standard_normal()
                    rows.append((f"task{unit:02d}", target, state, view, layout, round(margin, 4)))
    return pd.DataFrame(rows, columns=["task", "target", "state", "view", "layout", "margin"])
