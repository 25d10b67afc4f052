"""Whether a measured gain survives a change of evaluation channel.

>>> import fourcorner as fc
>>> fc.omega(view=("direct", "generated")) == fc.gain(view="generated") - fc.gain(view="direct")
True

`read_spec` and `read_scores` bring data in; `estimate` is the design engine, `fit` and `posterior`
the Bayesian one, `bayesian_bootstrap` a posterior without a model, `check` compares them,
`criteria` judges directions, `compare` fits several families, and `audit` does all of it.
`save_run` and `load_run` keep it, `reweight` gives it other target weights. Contrasts are `gain`,
`omega`,
`endpoint_shift` and `diagonal`, with ``+``, ``-`` and scalar ``*``; `shapley`, `moebius` and
`shapley_interaction` allocate a diagonal to the factors that move in it. `flip_ratio` and
`flip_share` say of two gains where rescaling or pooling the channels turns a sign. `match_donors`
finds each unit another whose views can control for length. Of a fit, `sign_flips` says how often
single transitions change sign, and `unit_gains` what each unit's own gain is without retry noise.
"""

from fourcorner.api import (
    audit,
    bayesian_bootstrap,
    check,
    compare,
    criteria,
    estimate,
    fit,
    load_run,
    posterior,
    probabilities,
    read_spec,
    reweight,
    save_run,
    sign_flips,
    unit_gains,
)
from fourcorner.contrasts import (
    Contrast,
    diagonal,
    endpoint_shift,
    flip_ratio,
    flip_share,
    gain,
    moebius,
    omega,
    shapley,
    shapley_interaction,
)
from fourcorner.donors import match_donors
from fourcorner.errors import (
    ContrastError,
    FitError,
    FourcornerError,
    NotAvailable,
    NotIdentified,
    OptionError,
    RunError,
    SpecError,
    TableError,
    WeightsError,
)
from fourcorner.estimands import Estimand, agreement, auc, beliefs, benchmark, signs
from fourcorner.scores import cells, funnel, read_scores
from fourcorner.spec import Spec, parse_spec

__all__ = [
    "Contrast",
    "ContrastError",
    "Estimand",
    "FitError",
    "FourcornerError",
    "NotAvailable",
    "NotIdentified",
    "OptionError",
    "RunError",
    "Spec",
    "SpecError",
    "TableError",
    "WeightsError",
    "agreement",
    "auc",
    "audit",
    "bayesian_bootstrap",
    "beliefs",
    "benchmark",
    "cells",
    "check",
    "compare",
    "criteria",
    "diagonal",
    "endpoint_shift",
    "estimate",
    "fit",
    "flip_ratio",
    "flip_share",
    "funnel",
    "gain",
    "load_run",
    "match_donors",
    "moebius",
    "omega",
    "parse_spec",
    "posterior",
    "probabilities",
    "read_scores",
    "read_spec",
    "reweight",
    "save_run",
    "shapley",
    "shapley_interaction",
    "sign_flips",
    "signs",
    "unit_gains",
]
