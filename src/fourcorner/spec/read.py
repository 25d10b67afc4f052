"""TOML to a frozen, checked spec: which column plays which part, and what is asked.

Invariant: a `Spec` that exists is consistent in itself; every fault of a spec file is reported
in one `SpecError`, and an unknown key anywhere is a fault that names the nearest right one.
Pinned by `tests/test_spec.py`.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fourcorner import names
from fourcorner.errors import SpecError
from fourcorner.sections import Section, show
from fourcorner.spec.criteria import Signs, read_criteria
from fourcorner.spec.data import DataSpec, read_data
from fourcorner.spec.design import DesignSpec, read_design
from fourcorner.spec.estimands import EstimandSpec, read_estimands
from fourcorner.spec.model import (
    ModelSpec,
    PriorSpec,
    SamplerSpec,
    read_model,
    read_priors,
    read_sampler,
)
from fourcorner.spec.weights import Declared, read_weights

MODELLED = ("model", "priors")


@dataclass(frozen=True)
class Spec:
    """One declared analysis of a score table.

    `weights` maps a name to ``"empirical"``, ``"equal"``, a mapping of stratum to weight, or
    ``{"mix": …}`` with a mapping of mixture to share. `criteria` maps a name to the sign, "+" or
    "-", that each of some rows is to have.
    """

    title: str
    data: DataSpec
    estimands: Mapping[str, EstimandSpec]
    weights: Mapping[str, Declared]
    model: ModelSpec = field(default_factory=ModelSpec)
    priors: PriorSpec = field(default_factory=PriorSpec)
    sampler: SamplerSpec = field(default_factory=SamplerSpec)
    design: DesignSpec = field(default_factory=DesignSpec)
    criteria: Mapping[str, Signs] = field(default_factory=dict)
    directory: Path = Path()
    text: str = ""

    @property
    def table_path(self) -> Path | None:
        """The table's path, taken from the spec's own folder."""
        return None if self.data.path is None else (self.directory / self.data.path).resolve()


def parse_spec(text: str, *, directory: Path = Path(), source: str = "spec") -> Spec:
    """Read a spec from TOML text.

    Parameters
    ----------
    text : str
        TOML as in the design document: tables ``data``, ``estimands``, ``weights``, ``model``,
        ``priors``, ``sampler``, ``design`` and ``criteria``.
    directory : Path
        Folder that a relative ``data.path`` starts from.
    source : str
        Name of the text in error messages.

    Returns
    -------
    Spec

    Raises
    ------
    SpecError
        With every fault found.

    Examples
    --------
    >>> spec = parse_spec('''
    ... kind = "scores"
    ... [data]
    ... score = "margin"
    ... unit = "task"
    ... change = { column = "state", before = "before", after = "after" }
    ... channel = { view = ["direct", "generated"] }
    ... [estimands]
    ... omega = { omega = { view = ["direct", "generated"] } }
    ... ''')
    >>> spec.estimands["omega"].levels
    {'view': ('direct', 'generated')}
    """
    try:
        raw = tomllib.loads(text)
    except RecursionError:
        raise SpecError(["not TOML that anyone wrote: nested too deeply"], source) from None
    except ValueError as error:  # TOMLDecodeError, or an integer of thousands of digits
        raise SpecError([f"not TOML: {error}"], source) from error
    faults: list[str] = []
    top = Section(raw, "", faults)
    kind = top.text("kind")
    if kind is not None and kind != "scores":
        faults.append(f"kind = {show(kind)}: this version reads kind = 'scores'")
    title = top.text("title", default="Untitled analysis")
    data = read_data(top.section("data"))
    estimands = read_estimands(top.section("estimands"), data)
    weights = read_weights(top.section("weights", required=False), data)
    model = read_model(top.section("model", required=False), data)
    priors = read_priors(top.section("priors", required=False), model)
    sampler = read_sampler(top.section("sampler", required=False), model)
    design = read_design(top.section("design", required=False))
    criteria = read_criteria(top.section("criteria", required=False))
    changeless = data is not None and not data.has_change
    for part in MODELLED if changeless and model.family != names.BAYESIAN_BOOTSTRAP else ():
        if part in top.raw:
            top.fault(f"{part} needs a [data] change: without one nothing is modelled")
    top.finish()
    if faults or data is None:
        raise SpecError(faults, source)
    return Spec(
        title=title or "",
        data=data,
        estimands=estimands,
        weights=weights,
        model=model,
        priors=priors,
        sampler=sampler,
        design=design,
        criteria=criteria,
        directory=directory,
        text=text,
    )
