"""Loops over arrays as machine code: compiled once by numba, kept on disk, and loaded from there without numba.

Importing numba and loading one function from its own cache takes 0.4 s, as long as planning a small program; importing
llvmlite 0.03 s, and loading an object file with it 1.5 ms.  So numba only writes the LLVM module of a function, the
first time on a machine; what is made of it is an object file whose one entry takes every array and its extents.

    @kernel
    def total(values: Floats) -> float: ...

Parameters are `Floats`, `Ints`, `Flags` (one dimension), `FloatRows`, `IntRows` (two), `int` and `float`, by the text
of their annotations (so `from __future__ import annotations`); arrays must be contiguous.  A kernel returns one number
or nothing, and allocates nothing: results and work space are parameters, as numba's allocator is not there when it
runs.  It raises nothing either.  Kernels may call kernels, of other modules too.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import re
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

Floats = Ints = Flags = FloatRows = IntRows = np.ndarray
_R = TypeVar("_R")

#: Element type and dimensions of the arrays that annotations name.
_ARRAYS = {
    "Floats": (np.dtype(np.float64), 1), "Ints": (np.dtype(np.int64), 1), "Flags": (np.dtype(np.bool_), 1),
    "FloatRows": (np.dtype(np.float64), 2), "IntRows": (np.dtype(np.int64), 2),
}  # fmt: skip
_NUMBERS: dict[str, Any] = {"int": ctypes.c_int64, "float": ctypes.c_double, "bool": ctypes.c_bool, "None": None}
#: What all of numba's modules call where something is raised or freed, which kernels do not do.
_NEVER = {
    "NRT_Free", "NRT_MemInfo_call_dtor", "numba_do_raise", "numba_gil_ensure", "numba_gil_release",
    "numba_runtime_build_excinfo_struct", "numba_unpickle",
}  # fmt: skip
_OUTSIDE = re.compile(r"^declare ([^@\n]*)@((?:NRT|numba|Py)\w+)\(([^)\n]*)\).*$", re.M)
_ENTRY = "entry"
#: Of all kernels that were loaded.  They stay: each of them would free the one target machine that all have.
_ENGINES: list[Any] = []
#: Where an array object has the address of its elements, in words: behind what every object has.  The C interface of
#: numpy (`PyArrayObject_fields`), which extensions are compiled against; `__array_interface__` takes 1 us.
_DATA = object.__basicsize__ // ctypes.sizeof(ctypes.c_void_p)


def kernel(function: Callable[..., _R]) -> Callable[..., _R]:
    """`function` as machine code, made at its first call."""
    return _Kernel(function, {})


def kernel_without_nan(function: Callable[..., _R]) -> Callable[..., _R]:
    """As `kernel`, for loops in which no value is NaN: minima of floats are then done several at a time."""
    return _Kernel(function, {"fastmath": {"nnan", "nsz"}})


def load_all(*modules: types.ModuleType) -> None:
    """Load the kernels of modules, and compile those that are not on disk, before they are called."""
    for module in modules:
        for loops in vars(module).values():
            if isinstance(loops, _Kernel):
                _ = loops.entry


class _Kernel:
    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.function, self.options = function, options
        *self.parameters, self.result = function.__annotations__.values()
        self.arrays = [_ARRAYS.get(p) for p in self.parameters]

    def __call__(self, *arguments: Any) -> Any:
        flat: list[Any] = []
        for argument, array in zip(arguments, self.arrays, strict=True):
            if array is None:
                flat.append(argument)
                continue
            shape = argument.shape
            if argument.dtype != array[0] or len(shape) != array[1] or not argument.flags.c_contiguous:
                raise TypeError(
                    f"{self.function.__name__}: {argument.dtype} in {len(shape)} dimensions, strides"
                    f" {argument.strides}; allowed: contiguous {array[0]} in {array[1]}"
                )
            flat.append(id(argument))
            flat += shape
        return self.entry(*flat)

    @functools.cached_property
    def entry(self) -> Callable[..., Any]:
        """The machine code, as a function of addresses of arrays, extents and numbers."""
        kept = _Kept(self.function)
        code = kept.read()
        if code is None:
            code = _object(self)
            kept.write(code)
        flat = [
            t
            for p, array in zip(self.parameters, self.arrays, strict=True)
            for t in ([ctypes.c_void_p] + [ctypes.c_int64] * array[1] if array else [_NUMBERS[p]])
        ]
        return _loaded(code, ctypes.CFUNCTYPE(_NUMBERS[self.result], *flat))


class _Kept:
    """Where the object file of a function is kept: beside its source, or in the user's cache folder.

    The file starts with the digest of the code, as LLVM crashes on what is damaged.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        import llvmlite
        from llvmlite import binding as llvm

        source = Path(function.__code__.co_filename)
        of = [llvmlite.__version__, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), str(_DATA)]
        digest = hashlib.sha256("\n".join(of).encode())
        for file in (source, Path(__file__), *sorted(_files(function) - {source})):
            digest.update(file.read_bytes())
        self.name = f"{source.stem}.{function.__name__}.{digest.hexdigest()[:24]}.o"
        cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "pcg" / "kernels"
        self.folders = [source.parent / "__pycache__"]
        with contextlib.suppress(RuntimeError):  # a user without a home
            self.folders.append(cache.expanduser())

    def read(self) -> bytes | None:
        for folder in self.folders:
            try:
                kept = (folder / self.name).read_bytes()
            except OSError:
                continue
            size = hashlib.sha256().digest_size
            if hashlib.sha256(kept[size:]).digest() == kept[:size]:
                return kept[size:]
        return None

    def write(self, code: bytes) -> None:
        """Keep it where that can be; several processes may do so at once."""
        for folder in self.folders:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                fresh = folder / f"{self.name}.{os.getpid()}"
                try:
                    fresh.write_bytes(hashlib.sha256(code).digest() + code)
                    fresh.replace(folder / self.name)
                finally:
                    fresh.unlink(missing_ok=True)
                return
            except OSError:
                continue


def _called(function: Callable[..., Any]) -> dict[str, _Kernel]:
    """The kernels that a function calls, by the names that it has for them."""
    names = {n: function.__globals__.get(n) for n in function.__code__.co_names}
    return {n: k for n, k in names.items() if isinstance(k, _Kernel)}


def _files(function: Callable[..., Any]) -> set[Path]:
    """The source files of a function and of all kernels that it calls."""
    found, waiting = {function}, [function]
    while waiting:
        more = {k.function for k in _called(waiting.pop()).values()} - found
        found |= more
        waiting += more
    return {Path(f.__code__.co_filename) for f in found}


@functools.cache
def _target_machine() -> Any:
    """Code for this processor, as numba's just-in-time compiler makes it."""
    from llvmlite import binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="static" if llvm.get_default_triple().startswith("x86") else "default",
        codemodel="jitdefault",
        jit=True,
    )


def _loaded(code: bytes, signature: Any) -> Callable[..., Any]:
    from llvmlite import binding as llvm

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    found: Callable[..., Any] = signature(engine.get_function_address(_ENTRY))
    _ENGINES.append(engine)
    return found


def _object(loops: _Kernel) -> bytes:
    """The object file of a kernel."""
    from llvmlite import binding as llvm
    from numba import cfunc

    native = cfunc(_signature(loops), error_model="numpy")(_over_addresses(loops))
    text = native.inspect_llvm().replace(native.native_name, _ENTRY)
    used = {name for _, name, _ in _OUTSIDE.findall(text)}
    if more := sorted(n for n in used - _NEVER if not n.startswith("Py")):
        raise TypeError(f"{loops.function.__name__}: a kernel cannot use what numba needs {', '.join(more)} for")
    text = _OUTSIDE.sub(r"define internal \1@\2(\3) {\n  call void @llvm.trap()\n  unreachable\n}", text)
    module = llvm.parse_assembly(text + "\ndeclare void @llvm.trap()\n")
    module.verify()
    code: bytes = _target_machine().emit_object(module)
    return code


def _signature(loops: _Kernel) -> Any:
    import numba

    flat: list[Any] = []
    for p, array in zip(loops.parameters, loops.arrays, strict=True):
        if array is None:
            flat.append({"int": numba.int64, "float": numba.float64}[p])
        else:
            pointer = numba.types.CPointer(numba.from_dtype(array[0]))
            flat += [numba.types.CPointer(pointer), *[numba.int64] * array[1]]
    result = {"int": numba.int64, "float": numba.float64, "bool": numba.boolean, "None": numba.void}[loops.result]
    return result(*flat)


def _over_addresses(loops: _Kernel) -> Callable[..., Any]:
    """The function for numba to compile, of addresses of arrays and their extents instead of arrays."""
    from numba import carray

    names, inside = [], []
    for i, array in enumerate(loops.arrays):
        extents = [f"n{i}_{d}" for d in range(array[1])] if array else []
        names += [f"p{i}", *extents]
        inside.append(f"carray(p{i}[{_DATA}], ({', '.join(extents)},))" if array else f"p{i}")
    scope: dict[str, Any] = {"carray": carray, "inner": _jitted(loops)}
    exec(f"def {_ENTRY}({', '.join(names)}):\n    return inner({', '.join(inside)})", scope)
    entry: Callable[..., Any] = scope[_ENTRY]
    return entry


@functools.cache
def _jitted(loops: _Kernel) -> Any:
    """The function as numba's, and so the kernels that it calls."""
    from numba import njit

    function = loops.function
    scope = function.__globals__ | {n: _jitted(k) for n, k in _called(function).items()}
    return njit(error_model="numpy", **loops.options)(
        types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, None)
    )
