"""The bundled cube as the cell model takes it, and the compile that is timed in its own process."""

import json
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytensor
import xarray as xr

import fourcorner as fc
from fourcorner import scores
from fourcorner.bayes import basis as bases
from fourcorner.bayes import sample
from fourcorner.bayes.data import CellData, joint_cells, sufficient
from fourcorner.bayes.priors import Priors, resolve
from fourcorner.io.bundled import spec_path


@dataclass(frozen=True)
class Cohort:
    """Everything that a fit of one table needs."""

    spec: fc.Spec
    cells: xr.DataArray
    strata: list[str]
    basis: bases.Basis
    stats: CellData
    priors: Priors

    @property
    def coefficients(self) -> np.ndarray:
        """Each unit's effect coefficients: shape (units, effects)."""
        flat = self.cells.values.reshape(self.cells.shape[0], -1)
        return flat @ self.basis.rows.T / self.basis.rows.shape[1]


def cube(table: object = None) -> Cohort:
    """The bundled cube under its own spec, or another table under the same spec."""
    declared = fc.read_spec(spec_path())
    data = scores.read_scores(declared, table)
    reduced = scores.cells(data)
    cells = joint_cells(reduced, scores.joint(reduced))
    strata = scores.strata(data)
    model = declared.model
    basis = bases.build(scores.factors(data), model.effects, model.stratum_effects)
    stats = sufficient(cells, basis, strata)
    priors = resolve(declared.priors, stats.location, stats.scale)
    return Cohort(declared, cells, strata, basis, stats, priors)


def compiled(cohort: Cohort) -> sample.Compiled:
    """The cohort's compiled model, from the process's cache when it is there."""
    return sample.compile_model(cohort.basis, cohort.stats, cohort.priors)


def _timed_compile() -> dict[str, Any]:
    cohort = cube()
    start = time.perf_counter()
    compiled(cohort)
    return {
        "seconds": round(time.perf_counter() - start, 2),
        "cache": str(pytensor.config.base_compiledir),
    }


if __name__ == "__main__":
    print(json.dumps(_timed_compile()))
