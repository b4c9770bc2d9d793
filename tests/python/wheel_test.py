# SPDX-License-Identifier: Apache-2.0
"""The wheel works in an empty virtual environment: only what makes DataFrames needs pandas."""

import pathlib
import shutil
import subprocess
import sys
import unittest

from coordinator import CoordinatorTest

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "python"

USE = """
import sys, concur
assert concur.__file__.startswith(sys.prefix), concur.__file__
client = concur.connect(sys.argv[1])

def square(x):
    return x * x

calls = client.map(square, {"x": [2, 3]})
assert calls.result(60) == [4.0, 9.0]
try:
    calls.sweep.scores()
except ImportError as error:
    assert "pandas" in str(error)
else:
    raise AssertionError("pandas is there: the environment is not empty")
"""


class WheelTest(CoordinatorTest):
    def test_the_wheel_works_in_an_empty_environment(self):
        shutil.copytree(SOURCE, "source")  # setuptools leaves its own files beside the sources
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
        build += ["--no-index", "--no-build-isolation"]
        build += ["--wheel-dir", "wheels", "./source"]
        built = subprocess.run(build, stderr=subprocess.PIPE, encoding="utf-8")
        if "No module named" in built.stderr:
            self.skipTest("python3-pip, python3-setuptools or python3-wheel is not installed")
        self.assertEqual(built.returncode, 0, built.stderr)
        (wheel,) = pathlib.Path("wheels").glob("concur-*.whl")
        made = subprocess.run([sys.executable, "-m", "venv", "--without-pip", "empty"])
        if made.returncode != 0:
            self.skipTest("python3-venv is not installed")
        (packages,) = pathlib.Path("empty/lib").glob("python3*/site-packages")
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
        subprocess.run([*install, "--target", packages, wheel], check=True)
        pathlib.Path("use.py").write_text(USE)
        used = subprocess.run(
            ["empty/bin/python3", "-E", "use.py", self.server], stderr=subprocess.PIPE, encoding="utf-8"
        )
        self.assertEqual(used.returncode, 0, used.stderr)


if __name__ == "__main__":
    unittest.main()
