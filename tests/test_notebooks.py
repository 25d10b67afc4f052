"""Every notebook runs from top to bottom."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.filterwarnings("default")  # the kernel's own start-up is not ours
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_is_committed_without_output(path):
    notebook = nbformat.read(path, as_version=4)
    outputs = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.outputs]
    assert outputs == [], "clear the outputs before committing"
    client = NotebookClient(notebook, timeout=600, kernel_name="python3")
    executed = client.execute(cwd=str(path.parent))
    errors = [
        output
        for cell in executed.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "error"
    ]
    assert errors == []
    assert any(cell.cell_type == "code" and cell.outputs for cell in executed.cells)
