"""The transition model: its density, its links, what it answers, and a fit of simulated chains."""

import numpy as np
import pytest
from scipy import stats

import chained
from fourcorner.bayes.priors import resolve
from fourcorner.bayes.transitions import density, model
from fourcorner.bayes.transitions.data import fitted_cells, prepared
import fourcorner as fc

UNIT = np.array([[1.0, 0.4], [0.4, 1.5]])
NOISE = np.array([[0.8, -0.3], [-0.3, 1.2]])
WHITE, TAU = 0.3, (0.5, 0.8)
PERSISTENCE = {"edit": 0.9, "test": 0.4, "plan": 0.7}
STEPS = sorted(PERSISTENCE)
PATTERNS = {
    "complete": [("plan", "edit", "test")] * 6,
    "ragged": [("plan", "edit", "test", "edit"), ("plan",), ("edit", "test"), ("test",) * 3] * 2,
}


def drawn(kinds, seed=1, lost=0.0):
    """Endpoints of units with these steps, some of them missing."""
    generator = np.random.default_rng(seed)
    ends = [3 + generator.normal(size=(len(steps) + 1, 2)).cumsum(axis=0) for steps in kinds]
    for values in ends:
        values[generator.random(values.shape) < lost] = np.nan
    return ends


def at(given, data, shared=True, step="kind"):
    """Endpoints, priors and constants of a table."""
    kinds, targets = given
    table = chained.table(data, kinds, targets, shared)
    spec = chained.spec(model='step = "kind"' if step else "")
    cells = fitted_cells(fc.read_scores(spec, table), spec.model)
    ends, _ = prepared(cells, step)
    return ends, resolve(spec.priors, ends.location, ends.scale)


def parameters(ends):
    """U, A, W, d and the sds of levels and steps between strata, of a chosen truth."""
    persistence = np.array([PERSISTENCE[kind] for kind in ends.chains.steps])
    of_level, of_step = model.deviations(np.diag(UNIT), np.diag(NOISE), np.array(WHITE), persistence)
    own = [np.tile(TAU[0] * of_level, len(ends.chains.levels)), (TAU[1] * of_step).ravel()]
    own = np.concatenate(own) * (len(ends.strata) > 1)
    return UNIT, (1 - WHITE) * NOISE, WHITE * NOISE, -np.log(persistence), own


def valued(ends, priors, given):
    constants = ends.constants(priors)
    return density.value_and_slopes(*given, *(constants[name] for name in model.CONSTANTS))


def dense(kinds, targets, data, ends, priors):
    """Log density of every observed endpoint as one long normal vector, all written out."""
    strata, levels = sorted(set(targets)), sorted({steps[0] for steps in kinds})
    rows, blocks, which = [], [], []
    for steps, target in zip(kinds, targets, strict=True):
        for e in range(len(steps) + 1):
            row = np.zeros(len(levels) + len(STEPS))
            row[levels.index(steps[0])] = 1
            for kind in steps[:e]:
                row[len(levels) + STEPS.index(kind)] += 1
            rows += [np.kron(row, np.eye(2)[k]) for k in range(2)]
            which += [strata.index(target)] * 2
        blocks.append(chained.law(steps, UNIT, NOISE, WHITE, PERSISTENCE))
    rows, which = np.array(rows), np.array(which)
    size = rows.shape[1]
    is_level = np.arange(size) < 2 * len(levels)
    gain = [np.diag(NOISE) * 2 * (WHITE + (1 - WHITE) * (1 - PERSISTENCE[kind])) for kind in STEPS]
    own = np.concatenate(
        [np.tile(TAU[0] ** 2 * np.diag(UNIT + NOISE), len(levels)), *(TAU[1] ** 2 * x for x in gain)]
    )
    common = np.where(is_level, priors.intercept_sd, priors.effect_sd) ** 2
    same, other = 1 - 1 / len(strata), -1 / len(strata)
    covariance = np.zeros((len(rows), len(rows)))
    place = 0
    for block in blocks:
        covariance[place : place + len(block), place : place + len(block)] = block
        place += len(block)
    between = np.where(np.equal.outer(which, which), same, other)
    covariance += (rows * common) @ rows.T + between * ((rows * own) @ rows.T)
    mean = rows @ (is_level * priors.score_location)
    flat = np.concatenate([values.ravel() for values in data])
    seen = np.isfinite(flat)
    return stats.multivariate_normal.logpdf(
        flat[seen], mean[seen], covariance[np.ix_(seen, seen)]
    )


@pytest.mark.parametrize("lost", [0.0, 0.25])
@pytest.mark.parametrize("name", PATTERNS)
def test_density_is_the_dense_normal_with_levels_and_steps_integrated_out(name, lost):
    kinds = PATTERNS[name]
    targets = ["a", "b"] * (len(kinds) // 2)
    data = drawn(kinds, lost=lost)
    ends, priors = at((kinds, targets), data)
    found = valued(ends, priors, parameters(ends))[0]
    assert found == pytest.approx(dense(kinds, targets, data, ends, priors), rel=1e-9)


def test_derivatives_equal_finite_differences():
    kinds = PATTERNS["ragged"]
    ends, priors = at((kinds, ["a", "b"] * 4), drawn(kinds, lost=0.25))
    given = parameters(ends)
    found = valued(ends, priors, given)[1:]
    for which, (slope, value) in enumerate(zip(found, given, strict=True)):
        for place in np.ndindex(value.shape):
            sides = []
            for step in (1e-5, -1e-5):
                moved = [np.array(x) for x in given]
                moved[which][place] += step / 2
                moved[which][place[::-1]] += step / 2
                sides.append(valued(ends, priors, moved)[0])
            assert slope[place] == pytest.approx((sides[0] - sides[1]) / 2e-5, rel=1e-5, abs=1e-6)
