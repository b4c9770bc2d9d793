# SPDX-License-Identifier: Apache-2.0
"""The notebook in docs/ runs, and a kernel that is killed loses nothing."""

import os
import pathlib
import sys
import unittest

from coordinator import CoordinatorTest

try:
    import nbclient
    import nbformat
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import KernelManager
except ImportError as error:
    print(f"skipped: {error}; install python3-nbclient and python3-ipykernel")
    sys.exit(77)

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.ipynb"


class ThisInterpreter(KernelSpecManager):
    """The kernel is this interpreter, whatever else is installed."""

    def get_kernel_spec(self, kernel_name):
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name=kernel_name, language="python")


class NotebookTest(CoordinatorTest):
    def setUp(self):
        super().setUp()
        os.environ["CONCUR_SERVER"] = self.server
        # Nothing is read from or written to the user's folders.
        for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
            os.environ[name] = os.path.join(self.directory.name, name.lower())

    def tearDown(self):
        del os.environ["CONCUR_SERVER"]
        super().tearDown()

    def executor(self, notebook):
        manager = KernelManager(kernel_spec_manager=ThisInterpreter())
        return nbclient.NotebookClient(notebook, km=manager, timeout=120)

    def run_all(self):
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        nbformat.validate(notebook)
        self.executor(notebook).execute()
        return notebook

    def test_the_notebook_of_the_documentation_runs(self):
        cells = {cell.source.split("\n")[0]: cell for cell in self.run_all().cells}
        html = next(cell for source, cell in cells.items() if source.startswith("matrix = "))
        self.assertIn("<svg", html.outputs[-1].data["text/html"])
        self.assertIn("1.0", cells["matrix.tau"].outputs[-1].data["text/plain"])
        self.assertEqual(len(self.client.sweeps()), 2)
        self.run_all()
        self.assertEqual(len(self.client.sweeps()), 2, "a second run submits nothing")

    def test_a_killed_kernel_loses_nothing(self):
        gate = os.path.join(self.directory.name, "go")
        source = f"""
import concur
def waits(gate):
    import os, time
    while not os.path.exists(gate):
        time.sleep(0.02)
    return 7
calls = concur.connect().map(waits, {{"gate": [{gate!r}]}})
"""
        kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
        cells = [nbformat.v4.new_code_cell(text) for text in (source, kill)]
        with self.assertRaises(nbclient.exceptions.DeadKernelError):
            self.executor(nbformat.v4.new_notebook(cells=cells)).execute()
        self.assertEqual(self.client.sweep("s1").state, "active")
        pathlib.Path(gate).touch()
        cells = [nbformat.v4.new_code_cell(text) for text in (source, "calls.sweep.id, calls.result()")]
        notebook = nbformat.v4.new_notebook(cells=cells)
        self.executor(notebook).execute()
        self.assertEqual(notebook.cells[1].outputs[0].data["text/plain"], "('s1', [7.0])")


if __name__ == "__main__":
    unittest.main()
