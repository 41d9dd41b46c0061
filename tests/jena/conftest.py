"""The kernels that tests run on."""

from __future__ import annotations

import pytest

from .kernels import KERNELS, Kernel, load_kernel


@pytest.fixture(params=KERNELS, scope="session")
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """Provide each kernel in turn."""
    try:
        return load_kernel(request.param)
    except ImportError:
        pytest.skip("the kernel is not built")
