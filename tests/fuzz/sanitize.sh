#!/usr/bin/env bash
# All that is compiled under AddressSanitizer and UndefinedBehaviorSanitizer: fuzzed cases, the tests
# of SPARQL results, of text scans and of Jena's rows, the conformance vectors and the codec's tests of
# the kernel.
# Its last line is "clean"; the first error ends the run with a stack trace.
#
#     tests/fuzz/sanitize.sh [PYTHON [CASES [SEED]]]
#     tests/fuzz/sanitize.sh short [PYTHON]
#
# The short form takes about two minutes: some hundred cases and a part of the tests.
# Without gcc or its sanitizers, both forms report this and do nothing.
#
# PYTHON must have the dev extra. The script builds the kernel in a temporary copy of the project, so
# that no installation changes.
set -euo pipefail
cd "$(dirname "$0")/../.."

short=
if [ "${1:-}" = short ]; then
    short=1
    shift
fi
python=${1:-python}
# An absolute path, because the build runs in another folder.
[[ $python != */* || $python == /* ]] || python=$PWD/$python
cases=${short:+300}
cases=${cases:-${2:-20000}}
seed=${3:-1}
JELLY_PLUGINS_SHARED=$(realpath -m "${JELLY_PLUGINS_SHARED:-../shared}")
export JELLY_PLUGINS_SHARED

# Python is not built with the sanitizers, so that they must be loaded before it. gcc prints a name
# without a path for a library that does not exist.
libraries=
for name in libasan.so libubsan.so; do
    library=$(command -v gcc >/dev/null && gcc -print-file-name=$name || true)
    case $library in
    /*) libraries="$libraries $library" ;;
    *) echo "sanitizers: no gcc, or no $name: not run" && exit 0 ;;
    esac
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Keeps Cython's output and its times, so that it is not generated again.
cp -rp jelly_plugins conformance tests proto setup.py pyproject.toml README.md LICENSE "$work"
cd "$work"
find jelly_plugins -name '*.so' -delete

echo "== build"
# The short form does not fuzz rdflib's terms, and need not build their kernel.
[ -z "$short" ] || sed -i '/^    Path("jelly_plugins\/rdflib"),$/d' setup.py
JELLY_POISON=1 \
CFLAGS="-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined" \
LDFLAGS="-fsanitize=address,undefined" \
    "$python" setup.py -q build_ext --inplace >build.log 2>&1 || {
    cat build.log
    exit 1
}

# This run does not look for leaks, because Python itself does not free all memory;
# tests/codec/test_leaks.py does.
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
# Python's own allocator would hide the ends of memory blocks.
export PYTHONMALLOC=malloc PYTHONPATH=$work
sanitized() {
    LD_PRELOAD=$libraries "$python" "$@"
}

found=$(sanitized -c 'from jelly_plugins.codec import _native; print(_native.__file__)')
case $found in
"$work"/*) ;;
*) echo "the kernel is not the one that was built here: $found" && exit 1 ;;
esac

# Prints the last line of a program's output, or all of it if the program fails.
last_line() {
    if ! sanitized "$@" >run.log 2>&1; then
        cat run.log
        exit 1
    fi
    tail -n 1 run.log
}

echo "== fuzzed cases"
last_line -m tests.fuzz.differential "$cases" "$seed"
echo "== SPARQL results"
# In the short form only the kernel's tests: the others take minutes.
last_line -m pytest -p no:cacheprovider --hypothesis-profile=patient -k "not python" \
    tests/sparql${short:+/test_codec.py}
echo "== scans and Jena's rows"
last_line -m pytest -p no:cacheprovider -k "not python" \
    tests/formats/test_depth.py tests/jena${short:+/test_wire.py}
if [ -z "$short" ]; then
    echo "== conformance vectors"
    last_line -m conformance --kernel native
    if [ -d "$JELLY_PLUGINS_SHARED/conformance/jelly-rdf" ]; then
        last_line -m conformance --suite "$JELLY_PLUGINS_SHARED/conformance/jelly-rdf" \
            --kernel native
    fi
    echo "== tests of the kernel"
    JELLY_FUZZ_CASES=2000 sanitized -m pytest -p no:cacheprovider --hypothesis-profile=patient \
        -k "not python and not parser and not bounded_memory" \
        tests/codec tests/fuzz tests/conformance tests/test_arrow.py
fi
echo "clean"
