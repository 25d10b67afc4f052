"""The synthetic retrieval face: 100 retrievals × state × frozen view, and a direct channel.

A generated view is made from a state and then frozen, so either view, the one made before retrieval
and the one made after it, can stand beside either state. That gives a symmetric face of four
corners, whose diagonal is the generated-view gain. A third channel scores the states without a
view; in 88 trajectories it is complete.

The study's own artifacts are not public, so this cohort stands in for them, made in two steps.

1. *Mechanism* (`mechanism`). Retrieval finds evidence or does not. The view made before it has
   mostly answered already; the view made after it holds on to part of that answer and tells part
   of the evidence. Beside a view the state itself is hardly heeded. Strengths are log-normal and
   gamma, shares beta, beliefs Student-t, and a margin is the target's score minus its nearest
   rival's.
2. *Calibration* (`calibration`). The share of the state is shifted and stretched to its published
   mean and standard error, the share of the view and the direct gain are shifted, all in closed
   form. The published figures are thus put in, not found.

Which direct scores are missing (`missing`) is drawn apart from all scores.

Invariant: for every seed the sample has the published means exactly (before rounding to four
decimals), and the same seed gives the same bytes. Pinned by ``tests/test_retrieval_face.py``
(``test_means_hold_for_every_seed``, ``test_committed_files_are_regenerated_byte_for_byte``).
"""

from fourcorner.simulate.retrieval_face.cohort import DEFAULT_SEED, files, generate
from fourcorner.simulate.retrieval_face.mechanism import VIEWS

__all__ = ["DEFAULT_SEED", "VIEWS", "files", "generate"]
