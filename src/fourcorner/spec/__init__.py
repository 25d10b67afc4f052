"""Specs: TOML to what is declared, one module for each table of the file."""

from fourcorner.spec.data import DataSpec
from fourcorner.spec.design import DesignSpec
from fourcorner.spec.estimands import EstimandSpec
from fourcorner.spec.model import ModelSpec, PriorSpec, SamplerSpec, as_family, unsuited
from fourcorner.spec.read import Spec, parse_spec
from fourcorner.spec.weights import check_weights

__all__ = [
    "DataSpec",
    "DesignSpec",
    "EstimandSpec",
    "ModelSpec",
    "PriorSpec",
    "SamplerSpec",
    "Spec",
    "as_family",
    "check_weights",
    "parse_spec",
    "unsuited",
]
