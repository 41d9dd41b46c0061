"""The conformance runner: test suites of Jelly against this package, and our own vectors.

``python -m conformance --help`` says how to run it, ``README.md`` beside this file what it
compares. Nothing is imported here: the kernel is chosen before the package is.
"""
