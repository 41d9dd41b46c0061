#!/usr/bin/env bash
# The compiled kernel under AddressSanitizer and UndefinedBehaviorSanitizer: the codec's tests of the
# kernel, the conformance vectors, and a fuzz corpus. Ends with "clean", or with what was found.
#
#     tests/fuzz/sanitize.sh [PYTHON [CASES [SEED]]]
#
# PYTHON has the dev extra and Cython installed; it needs gcc. The kernel is built in a copy of the
# project, which is removed afterwards: nothing that is installed changes.
set -euo pipefail
cd "$(dirname "$0")/../.."

python=${1:-python}
cases=${2:-20000}
seed=${3:-1}
JELLY_PLUGINS_SHARED=$(realpath "${JELLY_PLUGINS_SHARED:-../shared}")
export JELLY_PLUGINS_SHARED

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r jelly_plugins conformance tests proto setup.py pyproject.toml README.md LICENSE "$work"
cd "$work"
rm -f jelly_plugins/codec/_native.*.so jelly_plugins/codec/_native.c

echo "== build"
CFLAGS="-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined" \
LDFLAGS="-fsanitize=address,undefined" \
    "$python" setup.py -q build_ext --inplace >build.log 2>&1 || {
    cat build.log
    exit 1
}

# Python is not built with the sanitizers, so that they are loaded before it. Leaks are not looked
# for here, because Python itself leaves memory behind: tests/codec/test_leaks.py does that.
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
export LD_PRELOAD ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
# Python's own allocator would hide where a block ends.
export PYTHONMALLOC=malloc PYTHONPATH=$work

found=$("$python" -c 'from jelly_plugins.codec import _native; print(_native.__file__)')
case $found in
"$work"/*) ;;
*) echo "the kernel is not the one that was built here: $found" && exit 1 ;;
esac

echo "== conformance vectors"
"$python" -m conformance --kernel native | tail -n 1
if [ -d "$JELLY_PLUGINS_SHARED/conformance/jelly-rdf" ]; then
    "$python" -m conformance --suite "$JELLY_PLUGINS_SHARED/conformance/jelly-rdf" --kernel native |
        tail -n 1
fi
echo "== fuzz corpus"
"$python" -m tests.fuzz.differential "$cases" "$seed" | tail -n 1
"$python" -m tests.fuzz.patch_differential "$((cases / 5))" "$seed" | tail -n 1
echo "== tests of the kernel"
JELLY_FUZZ_CASES=2000 "$python" -m pytest -p no:cacheprovider --hypothesis-profile=patient \
    -k "not python and not parser and not bounded_memory" \
    tests/codec tests/fuzz tests/conformance tests/test_arrow.py
echo "clean"
