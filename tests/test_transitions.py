"""The transition model: its density, its links, what it answers, and a fit of simulated chains."""

import numpy as np
import pytest
from scipy import stats

import chained
import fourcorner as fc
from fourcorner.bayes.priors import resolve
from fourcorner.bayes.transitions import density, model
from fourcorner.bayes.transitions.data import fitted_cells, prepared

UNIT = np.array([[1.0, 0.4], [0.4, 1.5]])
NOISE = np.array([[0.8, -0.3], [-0.3, 1.2]])
WHITE, TAU = 0.3, {"levels": 0.5, "edit": 0.8, "test": 0.3, "plan": 1.1}
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
    of_level, of_step = model.deviations(
        np.diag(UNIT), np.diag(NOISE), np.array(WHITE), persistence
    )
    by_step = np.array([TAU[kind] for kind in ends.chains.steps])[:, None]
    own = [np.tile(TAU["levels"] * of_level, len(ends.chains.levels)), (by_step * of_step).ravel()]
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
        [
            np.tile(TAU["levels"] ** 2 * np.diag(UNIT + NOISE), len(levels)),
            *(TAU[kind] ** 2 * x for kind, x in zip(STEPS, gain, strict=True)),
        ]
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
    return stats.multivariate_normal.logpdf(flat[seen], mean[seen], covariance[np.ix_(seen, seen)])


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


def test_without_shared_endpoints_transitions_are_chains_of_two():
    kinds, targets = [("plan", "edit"), ("test",), ("edit", "plan")] * 2, ["a"] * 6
    data = drawn(kinds)
    ends, _ = at((kinds, targets), data, shared=False)
    shared, _ = at((kinds, targets), data)
    assert ends.chains.size[ends.chains.template].tolist() == [4, 2, 4] * 2
    assert shared.chains.size[shared.chains.template].tolist() == [3, 2, 3] * 2
    # two separate transitions of a unit: their noise is independent, the unit's effect is shared
    unit, slow, white, lasting, _ = parameters(ends)
    template = ends.chains.template[0]
    among = density.correlations(
        lasting, ends.chains.design[template], ends.chains.chain[template], 4
    )
    found = density.covariance(unit, slow, white, among)
    blocks = [chained.law((kind,), UNIT, NOISE, WHITE, PERSISTENCE) for kind in ("plan", "edit")]
    expected = np.kron(np.ones((4, 4)), UNIT)
    for i, block in enumerate(blocks):
        expected[4 * i : 4 * i + 4, 4 * i : 4 * i + 4] = block
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_without_an_endpoint_column_each_transition_has_ends_of_its_own():
    kinds, targets = [("plan", "edit"), ("test",), ("edit", "plan")] * 2, ["a"] * 6
    table = chained.table(drawn(kinds), kinds, targets, shared=False)
    priors_of = []
    for data, rows in ((chained.CHAINED, table), ('stratum = "target"', table)):
        spec = chained.spec(data, 'step = "kind"')
        rows = rows if "endpoint" in data else rows.drop(columns="endpoint")
        cells = fitted_cells(fc.read_scores(spec, rows), spec.model)
        ends, _ = prepared(cells, "kind")
        priors = resolve(spec.priors, ends.location, ends.scale)
        priors_of.append(valued(ends, priors, parameters(ends))[0])
    assert priors_of[0] == pytest.approx(priors_of[1], rel=1e-12)


def test_steps_are_places_in_the_chain_where_no_attribute_is_named():
    kinds = [("plan", "edit", "test"), ("plan",)] * 2
    ends, _ = at((kinds, ["a"] * 4), drawn(kinds), step=None)
    assert ends.chains.moves == ("level", "1", "2", "3")
    rows = ends.chains.rows()[:3]
    np.testing.assert_array_equal(rows[:, 1] - rows[:, 0], np.eye(4)[1:])


def test_design_rows_telescope_whatever_the_order_of_the_rows():
    kinds = PATTERNS["ragged"]
    table = chained.table(drawn(kinds), kinds, ["a", "b"] * 4)
    spec = chained.spec(model='step = "kind"')
    shuffled = table.sample(frac=1, random_state=2)
    for rows in (table, shuffled):
        cells = fitted_cells(fc.read_scores(spec, rows), spec.model)
        ends, _ = prepared(cells, "kind")
        moves = ends.chains.rows()
        for i, steps in enumerate(kinds):
            mine = moves[ends.chains.unit == i]
            counted = [steps.count(kind) for kind in ends.chains.steps]
            total = (mine[:, 1] - mine[:, 0]).sum(axis=0)
            np.testing.assert_array_equal(total[len(ends.chains.levels) :], counted)
            last = mine[np.argmax(mine[:, 1].sum(axis=1)), 1]
            first = mine[np.argmin(mine[:, 0].sum(axis=1)), 0]
            np.testing.assert_array_equal(last - first, total)
        values = ends.chains.endpoints(cells)
        assert np.isfinite(values).sum() == sum(2 * (len(steps) + 1) for steps in kinds)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t, "is the before of several transitions"),
        (lambda t: t.assign(margin=1.0), "do not vary"),
        (lambda t: t.assign(margin=t["margin"].where(t["task"] == "u000")), r"one unit \('u000'\)"),
        (lambda t: t.assign(margin=t["margin"].where(
            (t["view"] != "direct") | (t["endpoint"] != "e2"))), r"leave open .*test \(direct\)"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_model_is_said(change, words):
    kinds = [("plan", "test")] * 4
    spec = chained.spec(model='step = "kind"')
    table = change(chained.table(drawn(kinds), kinds, ["a"] * 4))
    if "several" in words:
        data = fc.read_scores(chained.spec('stratum = "target"', 'step = "kind"'), table)
        ends = np.array([["e0", "e1"], ["e0", "e2"]] * 4)
        data = data.assign_coords(endpoint=(("transition", "state"), ends))
    else:
        data = fc.read_scores(spec, table)
    with pytest.raises(fc.NotAvailable, match=words):
        prepared(fitted_cells(data, spec.model), "kind")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ('effects = "state"', "effects is an option of family normal or student"),
        ('cohort = "joint"', "uses every endpoint that was measured"),
        ('step = "knd"', "did you mean 'kind'"),
        ('wave = ["w1"]', "no replicate is called 'wave'"),
        ("[priors]\nretry_sd = 1.0", "no such prior"),
    ],
)
def test_an_option_that_is_none_of_the_models_is_refused(model, words):
    with pytest.raises(fc.SpecError, match=words):
        chained.spec(model=model)


def test_the_cell_model_has_no_steps():
    text = chained.SPEC.format(data=chained.CHAINED, model='step = "kind"', sampler="")
    with pytest.raises(fc.SpecError, match="step is an option of family transitions"):
        fc.parse_spec(text.replace('family = "transitions"', 'family = "normal"'))
