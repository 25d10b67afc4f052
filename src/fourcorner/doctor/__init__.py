"""What a table holds, and what a spec can get out of it, before anything is estimated."""

from fourcorner.doctor.specs import describe_scores
from fourcorner.doctor.tables import describe_table

__all__ = ["describe_scores", "describe_table"]
