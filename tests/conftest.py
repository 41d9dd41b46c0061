"""Settings of all tests: a slow machine fails none of them, and on CI hypothesis tries the same
examples each time."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("patient"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "patient")
