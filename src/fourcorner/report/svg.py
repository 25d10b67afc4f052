"""Figures as SVG elements that stand inside a page.

Invariant: the element refers to nothing outside itself, keeps text as text, and is the same bytes
for the same figure. Pinned by `tests/test_report.py`.
"""

import io
import warnings
from xml.etree import ElementTree

from markupsafe import Markup
from matplotlib.figure import Figure

from fourcorner.report.figures import styled


def to_svg(figure: Figure, name: str, description: str) -> str:
    """A figure as an SVG element for a page: text kept, no outside reference, ids of its own.

    Parameters
    ----------
    figure : Figure
    name : str
        Put before every id, so that figures of one page do not share any.
    description : str
        What the figure shows, for readers who do not see it.

    Returns
    -------
    str
    """
    buffer = io.StringIO()
    with styled(), warnings.catch_warnings():
        # the reader's browser draws the text, with a font that has the letter
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(buffer.getvalue())  # noqa: S314 - written just above
    for parent in list(root.iter()):
        for child in list(parent):
            if _local(child.tag) in {"metadata", "style"}:
                parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        attributes = {_local(key): value for key, value in element.attrib.items()}
        attributes.pop("space", None)
        element.attrib.clear()
        element.attrib.update({key: _own(key, value, name) for key, value in attributes.items()})
    for key in ("width", "height"):
        root.attrib.pop(key, None)
    root.attrib.update({"role": "img", "aria-label": description})
    return ElementTree.tostring(root, encoding="unicode")


def drawn(figure: Figure, name: str, description: str) -> Markup:
    """A figure as `to_svg` makes it, ready to stand in a page."""
    return Markup(to_svg(figure, name, description))  # noqa: S704 - drawn and escaped by to_svg


def drawn_if(figure: Figure | None, name: str, description: str) -> Markup | None:
    """The same where there is a figure to draw."""
    return None if figure is None else drawn(figure, name, description)


def _local(name: str) -> str:
    return name.rsplit("}", 1)[-1]


def _own(key: str, value: str, name: str) -> str:
    """An attribute with the figure's name before every id in it."""
    if key == "id":
        return f"{name}-{value}"
    if key == "href":
        return f"#{name}-{value[1:]}"
    return value.replace("url(#", f"url(#{name}-")
