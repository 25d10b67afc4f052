"""The synthetic probing study: 100 traces of 11 steps, replayed under six scoring protocols.

The study's own artifacts are not public, so this cohort stands in for them, made in two steps.

1. *Mechanism* (`mechanism`). A trace holds twelve endpoints and, at each, scores of four
   candidates, the last of which is none of the above. Read *directly*, evidence arrives in gamma
   lumps on one candidate while the pull towards none of the above fades. Read through a *128-token
   rationale*, the state is what the rationale asserts: one candidate far above the rest.
   Extraction and audit often lose the target from it, retrieval, drafting and revision sometimes
   find it again. Beliefs are nearly one-hot and move by pivots. The *audit* takes one extraction
   or audit step of 40 traces, one in which the rationale lost more than four nats, and scores it
   again: directly from the full state, with the option labels permuted, with 512 tokens, and
   through a buffer of extracts. No step draws from a normal model of cells.
2. *Calibration* (`calibration`). Target scores are shifted so that mean gains are the
   published ones: by a constant for each kind of step and one for the audited steps, which solve
   linear equations. What is left are two figures that margins do not determine. How far the other
   rivals lie below the nearest one is stretched by factors that are found numerically: one
   everywhere, for the surprise, and one at the first or the last endpoint, for the movement of
   entropy. The published figures are thus put in, not found: agreement with them checks an
   estimator and is no evidence about the study.

Invariant: for every seed that can be calibrated the sample has the published means and belief
diagnostics (before rounding to four decimals), an endpoint has one score whatever the transition
that it is read from, and the same seed gives the same bytes. Pinned by `tests/test_protocol.py`.
"""

from fourcorner.simulate.protocol.cohort import DEFAULT_SEED, files, generate
from fourcorner.simulate.protocol.mechanism import PROTOCOLS, TARGETS

__all__ = ["DEFAULT_SEED", "PROTOCOLS", "TARGETS", "files", "generate"]
