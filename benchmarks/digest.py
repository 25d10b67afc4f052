"""A digest that ties committed results to the code that made them.

Invariant: it changes with the code and not with comments, docstrings, layout or the version of
Python. Pinned by `tests/test_committed_results.py`.
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIED = ("benchmarks", "fourcorner.bayes", "fourcorner.checks", "fourcorner.design")
WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def digest(paths: Iterable[Path], root: Path = ROOT) -> str:
    """SHA-256 over the syntax trees of Python files and their places under `root`."""
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(f"{path.relative_to(root).as_posix()}\n".encode())
        found.update(_canonical(ast.parse(path.read_text())).encode())
    return found.hexdigest()


def sources(module: str, root: Path = ROOT) -> list[Path]:
    """The file of a module and, of the tied packages, of every module that it comes to import."""
    waiting, found = [module], set()
    while waiting:
        path = _path(waiting.pop(), root)
        if path is None or path in found:
            continue
        found.add(path)
        waiting += [name for name in _imported(path) if name.startswith(TIED)]
    return sorted(found)


def _path(module: str, root: Path) -> Path | None:
    base = root if module.startswith("benchmarks") else root / "src"
    stem = base.joinpath(*module.split("."))
    for path in (stem.with_suffix(".py"), stem / "__init__.py"):
        if path.is_file():
            return path
    return None


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _canonical(node: object) -> str:
    """A syntax tree as text: filled fields only, since versions of Python differ in empty ones."""
    if isinstance(node, list):
        return f"[{','.join(_canonical(item) for item in node)}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    filled = {name: value for name, value in ast.iter_fields(node) if value not in (None, [])}
    if isinstance(node, WITH_DOCSTRING) and ast.get_docstring(node, clean=False) is not None:
        filled["body"] = filled["body"][1:]
    parts = [f"{name}={_canonical(value)}" for name, value in sorted(filled.items())]
    return f"{type(node).__name__}({','.join(parts)})"
