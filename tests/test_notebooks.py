"""Every notebook runs from top to bottom, in one process with the tests' compiled models."""

from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


class Shell(InteractiveShell):
    """A shell without windows."""

    def enable_gui(self, gui=None):
        """Nothing: figures are shown inline."""


@pytest.fixture
def shell(monkeypatch, tmp_path):
    """A shell of its own for each notebook, without the history that a user's has."""
    import matplotlib.pyplot as plt

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    found = Shell.instance()
    found.history_manager.enabled = False
    yield found
    Shell.clear_instance()
    plt.close("all")


@pytest.mark.filterwarnings("default")  # what other packages warn of at a prompt is not ours
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_is_committed_without_output(path, shell, monkeypatch):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert [cell for cell in cells if cell.outputs] == [], "clear the outputs before committing"
    monkeypatch.chdir(path.parent)
    with capture_output() as shown:
        for cell in cells:
            shell.run_cell(cell.source).raise_error()
    assert shown.outputs or shown.stdout
