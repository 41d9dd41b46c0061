"""The conformance runner: runs Jelly's test suites and our own vectors against this package.

``python -m conformance --help`` shows the options, and ``README.md`` in this folder describes the
comparisons. This module imports nothing, because the kernel must be chosen before the package is
imported.
"""
