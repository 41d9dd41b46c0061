"""Settings of all tests: on CI, hypothesis tries the same examples each time."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile("ci", derandomize=True, deadline=None)
# For sanitizers, which make everything slow.
settings.register_profile("slow", deadline=None, suppress_health_check=[HealthCheck.too_slow])
if os.environ.get("CI"):
    settings.load_profile("ci")
