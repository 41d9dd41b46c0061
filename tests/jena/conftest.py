"""The kernels that tests run on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .kernels import KERNELS, Kernel, load_kernel


@pytest.fixture(params=KERNELS)
def kernel(request: pytest.FixtureRequest) -> Iterator[Kernel]:
    """Provide each kernel in turn."""
    try:
        yield load_kernel(request.param)
    except ImportError:
        pytest.skip("the kernel is not built")
