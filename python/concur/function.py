# SPDX-License-Identifier: Apache-2.0
"""A function as source text that runs elsewhere, with what it uses.

Source, and not a pickle: the same function gives the same bytes in every session and version of
Python, so that finished settings are found again, and `concur job explain` can name what changed.
"""

from __future__ import annotations

import __future__

import ast
import builtins
import dis
import inspect
import os
import pathlib
import sys
import sysconfig
import textwrap
import types
from typing import Any, Dict, List, Sequence, Set

from concur.errors import InvalidInput
from concur.spec import Path

_CONSTANT_BYTES_MAX = 100_000


def pack(function: Any, code: Sequence[Path] = ()) -> str:
    """A module that defines the function and what it uses of its own module.

    Functions, classes and constants of its module come along; what it imports must be installed
    where it runs, or be in a file of `code`. InvalidInput names what can do neither.
    """
    name = getattr(function, "__name__", "")
    if not isinstance(function, types.FunctionType) or not name.isidentifier():
        raise InvalidInput(f"expected a function made by def, got {function!r}")
    packer = _Packer(function, {pathlib.Path(path).stem for path in code})
    packer.add(function)
    return packer.text()


class _Packer:
    def __init__(self, function: types.FunctionType, provided: Set[str]) -> None:
        self._name = function.__name__
        self._home = function.__module__
        self._globals = function.__globals__
        self._provided = provided | {"concur"}
        self._imports: Set[str] = set()
        self._constants: Dict[str, str] = {}
        self._definitions: List[str] = []
        self._seen: Set[str] = set()

    def text(self) -> str:
        head = ["from __future__ import annotations", *sorted(self._imports)]
        constants = [f"{name} = {text}" for name, text in sorted(self._constants.items())]
        return "\n\n".join(["\n".join(head + constants), *self._definitions]) + "\n"

    def add(self, value: Any) -> None:
        """A function or class of the home module, after what it uses."""
        if value.__name__ in self._seen:
            return
        self._seen.add(value.__name__)
        free = getattr(getattr(value, "__code__", None), "co_freevars", ())
        if free:
            raise self._error(
                f"{value.__name__} uses {', '.join(free)} of the function around it; pass it as a setting"
            )
        try:
            source = textwrap.dedent(inspect.getsource(value))
        except (OSError, TypeError):
            raise self._error(
                f"the source of {value.__name__} is not there; define it in a notebook's cell or a file, "
                "or import it from a file of code=[…]"
            ) from None
        for name in sorted(_global_names(source)):
            if name in self._globals and name != value.__name__:
                self._use(name, self._globals[name])
        self._definitions.append(source.rstrip())

    def _use(self, name: str, value: Any) -> None:
        if isinstance(value, types.ModuleType):
            self._require(value.__name__)
            self._imports.add(f"import {value.__name__} as {name}")
        elif isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
            home = value.__module__ or ""
            if home != self._home:
                self._require(home)
                if getattr(sys.modules.get(home), value.__name__, None) is not value:
                    raise self._error(f"{name} cannot be imported from {home}")
                self._imports.add(f"from {home} import {value.__name__} as {name}")
                return
            self.add(value)
            if name != value.__name__:
                self._definitions.append(f"{name} = {value.__name__}")
        else:
            self._constants[name] = self._constant(name, value)

    def _constant(self, name: str, value: Any) -> str:
        text = repr(value)
        try:
            if len(text) <= _CONSTANT_BYTES_MAX and ast.literal_eval(text) == value:
                return text
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            pass
        raise self._error(
            f"it uses {name}, a {type(value).__name__} that is not sent along: "
            "make it inside the function, or pass what it is made from as a setting"
        )

    def _require(self, module: str) -> None:
        top = module.partition(".")[0]
        if top not in self._provided and not _is_installed(top):
            raise self._error(
                f"it uses the module {module}, which is a file of yours: name the file in code=[…]"
            )

    def _error(self, message: str) -> InvalidInput:
        return InvalidInput(f"{self._name}: {message}")


def _global_names(source: str) -> Set[str]:
    """The names that the source takes from its module; those of annotations are not looked up."""
    flags = __future__.annotations.compiler_flag
    pending = [compile(source, "<function>", "exec", flags=flags, dont_inherit=True)]
    names: Set[str] = set()
    while pending:
        code = pending.pop()
        for instruction in dis.get_instructions(code):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                names.add(str(instruction.argval))
        pending += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return {name for name in names if not hasattr(builtins, name)}


def _is_installed(top: str) -> bool:
    """True if it is of Python or of an installed package, and no file of the user's."""
    found = getattr(sys.modules.get(top), "__spec__", None)
    if found is None:
        return False
    places = [found.origin, *(found.submodule_search_locations or [])]
    if found.origin in ("built-in", "frozen"):
        return True
    roots = {sysconfig.get_path(key) for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    for place in places:
        if not place:
            continue
        parts = os.path.realpath(place).split(os.sep)
        if "site-packages" in parts or "dist-packages" in parts:
            return True
        if any(os.path.realpath(place).startswith(os.path.realpath(root) + os.sep) for root in roots):
            return True
    return False
