"""The synthetic source contract: 100 retrievals × 3 views × 4 layouts, and an audit of views.

Does a generated view credit a candidate with support that no source has given yet? Views are
generated freely (*ungrounded*), or under a contract that allows explicit evidence only
(*source-only*), or they *quote* the source. The study's own artifacts are not public, so this
cohort stands in for them, made in two steps.

1. *Mechanism* (`mechanism`, `claims`). Retrieval ends with an artifact in 65 of 100 trajectories.
   The ungrounded view claims support for candidates before there is any, mostly for the target
   where that is a plain answer, with log-normal strengths that the evaluator credits; an artifact
   makes it drop most of a claim, its absence does not. A margin is the target's score minus its
   nearest rival's. Layouts add an offset of their own, scaled by trajectory, and heavy-tailed
   noise. The audit counts the claims that the parser reads, the same ones that are credited. No
   step draws from a normal model of cells with stratum means, which is the model this package fits.
2. *Calibration* (`calibration`). The finished draws are shifted and scaled by constants that solve
   small linear equations, so that the *sample*, layout noise included, has the published means, and
   the bootstrap standard errors that the published intervals imply. The published figures are thus
   put in, not found: agreement with them checks an estimator and is no evidence about the study.

Invariant: for every seed that can be calibrated the sample has the calibrated means (before
rounding to four decimals) and the audit its counts, and the same seed gives the same bytes. Pinned
by `tests/test_source_contract.py` (`test_means_and_standard_errors_hold_for_every_seed`,
`test_the_audit_of_views_holds_for_every_seed`,
`test_committed_files_are_regenerated_byte_for_byte`).
"""

from fourcorner.simulate.source_contract.cohort import DEFAULT_SEED, files, generate
from fourcorner.simulate.source_contract.mechanism import AUDITED, VIEWS

__all__ = ["AUDITED", "DEFAULT_SEED", "VIEWS", "files", "generate"]
