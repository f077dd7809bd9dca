"""Annotations: a program's own word on where its ops and steps begin and end.

    import optile

    for batch in batches:
        with optile.op("attention", scores.shape):
            ...
        optile.step()

For work that optile cannot see by itself. An annotated op is one like any other: it is measured,
gets a width, and `optile explain` knows it by name. Of nested ops the outermost gets the width: an
op around a whole model hides the ops inside. Begin and end belong to the same thread; an op around
a `yield` or an `await` covers whatever runs meanwhile.

Without `optile run` nothing happens, at the cost of a call. Nothing here raises an exception, so
that a program behaves the same with and without. Standard library only; this one file is all.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

try:
    import ctypes
except ImportError:  # a Python without it
    ctypes = None  # type: ignore[assignment]

__all__ = ["op", "step"]

_SYMBOL = "optile_annotation_api_1"  # as in optile/annotate.h
_STORAGE_WORDS = 10
_KEPT_IDENTITIES = 4096  # beyond that they are made anew: nothing grows without bound


class _Nothing:
    """Where nobody listens."""

    __slots__ = ()

    def __enter__(self) -> "_Nothing":
        return self

    def __exit__(self, *exception: Any) -> None:
        return None


_NOTHING = _Nothing()


def _functions() -> Optional[Tuple[Any, Any, Any]]:
    """begin, end and step of the preloaded shim."""
    if ctypes is None:
        return None
    begin = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p,
                              ctypes.c_uint32, ctypes.c_void_p)
    end = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
    step_type = ctypes.PYFUNCTYPE(None)

    class Api(ctypes.Structure):
        _fields_ = [("bytes", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("begin", begin),
                    ("end", end), ("step", step_type)]

    try:
        api = Api.in_dll(ctypes.PyDLL(None), _SYMBOL)
    except (OSError, ValueError):
        return None
    if api.bytes < ctypes.sizeof(Api):
        return None
    return api.begin, api.end, api.step


_shim = _functions()
if _shim is not None:
    _begin, _end, _step = _shim
    _Storage = ctypes.c_uint64 * _STORAGE_WORDS  # of an open op
_identities: Dict[Any, Tuple[bytes, Any, int]] = {}


def _identity(name: Any, shape: Any) -> Tuple[bytes, Any, int]:
    """As the shim takes it. A shape that is not made of whole numbers is left out."""
    text = b"?"
    try:
        text = str(name).encode(errors="replace")
        sizes = tuple(int(size) for size in shape)
        return text, (ctypes.c_int64 * len(sizes))(*sizes), len(sizes)
    except Exception:  # whatever a program passes in, its own run goes on
        return text, None, 0


def _kept_identity(name: Any, shape: Any) -> Tuple[bytes, Any, int]:
    key = (name, shape)
    try:
        found = _identities.get(key)
    except Exception:  # a list is no key, and what compares itself may do anything
        return _identity(name, shape)
    if found is None:
        found = _identity(name, shape)
        # Nothing but numbers is kept alive.
        plain = isinstance(name, str) and isinstance(shape, tuple)
        if plain and all(type(size) is int for size in shape):
            if len(_identities) < _KEPT_IDENTITIES:
                _identities[key] = found
    return found


class _Op:
    __slots__ = ("_what", "_open")

    def __init__(self, what: Tuple[bytes, Any, int]) -> None:
        self._what = what
        self._open: List[Any] = []  # one for each `with` that it is in

    def __enter__(self) -> "_Op":
        storage = _Storage()
        self._open.append(storage)
        name, shape, dimensions = self._what
        _begin(storage, name, shape, dimensions, None)
        return self

    def __exit__(self, *exception: Any) -> None:
        _end(self._open.pop())


def op(name: Any, shape: Any = ()) -> Any:
    """A context: inside it the op `name` on data of this shape runs. Whatever wants another number
    of threads needs another name or shape."""
    return _NOTHING if _shim is None else _Op(_kept_identity(name, shape))


def step() -> None:
    """One pass of the program's outer loop ends and the next begins, on the thread that issues the
    ops. Without any such call steps are found in the sequence of ops."""
    if _shim is not None:
        _step()
