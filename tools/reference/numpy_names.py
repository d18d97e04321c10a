#!/usr/bin/env python3
"""Writes the names of NumPy's functions, one `namespace.name` a line, for crates/flambeau/tests/values/numpy_names.rs.

Functions only: no classes, constants or dtypes. Run with NumPy 2.x:
python3 tools/reference/numpy_names.py > crates/flambeau/tests/data/numpy_names.txt
"""

import inspect

import numpy as np

PRIVATE = {"test", "_core", "_mat", "show_config", "show_runtime"}


def is_function(value):
    return callable(value) and not inspect.isclass(value) and not inspect.ismodule(value)


def names(prefix, namespace, listed):
    for name in sorted(listed, key=str.lower):
        if not name.startswith("_") and name not in PRIVATE and is_function(getattr(namespace, name)):
            yield f"{prefix}.{name}"


assert np.__version__.startswith("2."), np.__version__
for prefix, namespace in [("numpy", np), ("numpy.linalg", np.linalg), ("numpy.fft", np.fft), ("numpy.random", np.random)]:
    print(*names(prefix, namespace, namespace.__all__), sep="\n")
print(*names("numpy.random.Generator", np.random.Generator, dir(np.random.Generator)), sep="\n")
