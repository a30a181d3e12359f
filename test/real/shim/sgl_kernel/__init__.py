"""Stand-in for sglang-kernel, which exists for CUDA only and does not import without libcuda.

Plain serving on the CPU (`--attention-backend torch_native`, no speculation) imports names from
it and calls none of them: attention, norms, rotary embedding and sampling are SGLang's own torch
code. Every name is therefore there, and raises when it is called.
"""

import importlib.abc
import importlib.machinery
import os
import sys

__version__ = "0.0.0+cpu.stand.in"


class _Absent:
    """A kernel that must not be called here."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Absent(f"{self._name}.{name}")

    def __call__(self, *args, **kwargs):
        raise NotImplementedError(f"sgl_kernel.{self._name}: no CPU kernel in the stand-in")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return _Absent(name)


class _SubmoduleFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes `sgl_kernel.anything` importable; needed where CUDA probes are mocked (resolve.py)."""

    def find_spec(self, name, path=None, target=None):
        if name.startswith(__name__ + "."):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__path__ = []
        module.__getattr__ = __getattr__


if os.environ.get("NIGHTSWEEP_MOCK_CUDA") == "1":
    sys.meta_path.insert(0, _SubmoduleFinder())
