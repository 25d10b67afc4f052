"""Copies of a fit's tree with a part of it replaced, for what no shared fit has."""

import numpy as np

from fourcorner.bayes.tree import group


def with_variables(tree, name, **variables):
    """A copy of a tree whose group `name` has other values in some variables."""
    copied = tree.copy(deep=True)
    held = group(copied, name)
    copied[name] = held.assign({key: (held[key].dims, value) for key, value in variables.items()})
    return copied


def with_posterior(tree, **variables):
    """A copy of a fit whose posterior has other values in some variables."""
    return with_variables(tree, "posterior", **variables)


def without_cell(tree, stratum=None, units=slice(None), **cell):
    """A copy of a fit of the observed cohort in which some units lack a cell."""
    copied = tree.copy(deep=True)
    held = group(copied, "observed_data")
    cells = held["cells"].copy()
    lacking = np.zeros(cells.sizes["unit"], dtype=bool)
    lacking[units] = True
    if stratum is not None:
        lacking &= held["stratum"].values == stratum
    cells.loc[{"unit": cells["unit"][lacking], **cell}] = np.nan
    copied["observed_data"] = held.assign(cells=cells)
    copied.attrs["cohort"] = "observed"
    return copied


def with_retry_noise(tree, sd, waves):
    """A copy of a fit that has measured retry noise of one known sd."""
    copied = tree.copy(deep=True)
    posterior, constants = group(copied, "posterior"), group(copied, "constant_data")
    shape = (posterior.sizes["chain"], posterior.sizes["draw"], 1)
    copied["posterior"] = posterior.assign_coords(scale_group=["all"]).assign(
        retry_sd=(("chain", "draw", "scale_group"), np.full(shape, sd))
    )
    size = constants.sizes["component"]
    copied["constant_data"] = constants.assign(
        component_retry=("component", np.full(size, 1 / (size * waves))),
        component_group=("component", np.zeros(size, dtype=int)),
    )
    return copied
