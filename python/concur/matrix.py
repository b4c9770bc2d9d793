# SPDX-License-Identifier: Apache-2.0
"""A concurrence matrix as DataFrames and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence

from concur.frames import load_pandas

if TYPE_CHECKING:
    import pandas


class Matrix:
    """Similarity of benchmarks in how they rank approaches.

    `coefficient`, `low` and `high` are DataFrames of benchmarks × benchmarks (NaN where a pair has no
    value); `tau`, `r` and `rho` name the coefficient of a matrix that has it.
    """

    def __init__(self, value: Mapping[str, Any], draw: Callable[[], str]) -> None:
        self.json = dict(value)  # all that `concur -o json matrix` prints
        self._draw = draw
        self._svg: Optional[str] = None

    @property
    def benchmarks(self) -> List[str]:
        return list(self.json["benchmarks"])

    def _frame(self, pick: Callable[[Mapping[str, Any]], Any], diagonal: float) -> "pandas.DataFrame":
        pandas = load_pandas()
        names = self.benchmarks
        frame = pandas.DataFrame(float("nan"), index=names, columns=names)
        for name in names:
            frame.loc[name, name] = diagonal
        for pair in self.json["pairs"]:
            value = pick(pair)
            value = float("nan") if value is None else value
            frame.loc[pair["a"], pair["b"]] = frame.loc[pair["b"], pair["a"]] = value
        return frame

    @property
    def coefficient(self) -> "pandas.DataFrame":
        return self._frame(lambda pair: pair["value"], 1.0)

    @property
    def low(self) -> "pandas.DataFrame":
        return self._frame(lambda pair: pair["low"], 1.0)

    @property
    def high(self) -> "pandas.DataFrame":
        return self._frame(lambda pair: pair["high"], 1.0)

    def __getattr__(self, name: str) -> "pandas.DataFrame":
        names: Dict[str, Sequence[str]] = {
            "tau": ("kendall", "weighted-kendall"),
            "r": ("pearson",),
            "rho": ("spearman",),
        }
        if name in names and self.json["coefficient"] in names[name]:
            return self.coefficient
        raise AttributeError(f"a matrix of {self.json['coefficient']} has no {name!r}")

    def svg(self) -> str:
        """The heat map with intervals, as `concur matrix --format svg` draws it."""
        if self._svg is None:
            self._svg = self._draw()
        return self._svg

    def _repr_html_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"{self.json['coefficient']} between benchmarks\n{self.coefficient!r}"
