# SPDX-License-Identifier: Apache-2.0
"""pandas, which only DataFrames need: it is loaded with the first of them."""

from __future__ import annotations

import importlib
from typing import Any


def load_pandas() -> Any:
    """The module. ImportError that says how to install it."""
    try:
        return importlib.import_module("pandas")
    except ModuleNotFoundError as error:
        if error.name != "pandas":  # it is there, and lacks something itself
            raise
        raise ModuleNotFoundError(
            "this returns a DataFrame, which needs pandas: python3 -m pip install pandas "
            "(on Debian: apt-get install python3-pandas)",
            name="pandas",
        ) from None
