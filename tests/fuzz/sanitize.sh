#!/usr/bin/env bash
# The compiled kernel under AddressSanitizer and UndefinedBehaviorSanitizer: the corpus of
# coverage-guided fuzzing, fuzzed cases, the tests of SPARQL results, the conformance vectors and the
# codec's tests of the kernel.
# Its last line is "clean"; the first error ends it, with a stack.
#
#     tests/fuzz/sanitize.sh [PYTHON [CASES [SEED]]]
#     tests/fuzz/sanitize.sh short [PYTHON]
#
# The short form takes a minute or so: the corpus, some hundred cases and SPARQL results. Neither is run where gcc
# or its sanitizers are missing: it says so.
#
# PYTHON has the dev extra installed. The kernel is built in a copy of the project, which
# is removed afterwards: nothing that is installed changes.
set -euo pipefail
cd "$(dirname "$0")/../.."

short=
if [ "${1:-}" = short ]; then
    short=1
    shift
fi
python=${1:-python}
# The build runs in another folder.
[[ $python != */* || $python == /* ]] || python=$PWD/$python
cases=${short:+150}
cases=${cases:-${2:-20000}}
seed=${3:-1}
JELLY_PLUGINS_SHARED=$(realpath -m "${JELLY_PLUGINS_SHARED:-../shared}")
export JELLY_PLUGINS_SHARED

# Python is not built with the sanitizers, so that they are loaded before it. A name without a place
# is that of a library which is not there.
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
# With what Cython made, and when: it is not made again.
cp -rp jelly_plugins conformance tests proto setup.py pyproject.toml README.md LICENSE "$work"
cd "$work"
find jelly_plugins -name '_native.*.so' -delete

echo "== build"
# rdflib's terms are not fuzzed.
[ -z "$short" ] || sed -i '/^    Path("jelly_plugins\/rdflib"),$/d' setup.py
JELLY_POISON=1 \
CFLAGS="-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined" \
LDFLAGS="-fsanitize=address,undefined" \
    "$python" setup.py -q build_ext --inplace >build.log 2>&1 || {
    cat build.log
    exit 1
}

# Leaks are not looked for here, because Python itself leaves memory behind:
# tests/codec/test_leaks.py does that.
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
# Python's own allocator would hide where a block ends.
export PYTHONMALLOC=malloc PYTHONPATH=$work
sanitized() {
    LD_PRELOAD=$libraries "$python" "$@"
}

found=$(sanitized -c 'from jelly_plugins.codec import _native; print(_native.__file__)')
case $found in
"$work"/*) ;;
*) echo "the kernel is not the one that was built here: $found" && exit 1 ;;
esac

# The last line of what a program says; all of it if it fails.
last_line() {
    if ! sanitized "$@" >run.log 2>&1; then
        cat run.log
        exit 1
    fi
    tail -n 1 run.log
}

echo "== fuzz corpus"
last_line -m pytest -p no:cacheprovider tests/fuzz/test_corpus.py
echo "== fuzzed cases"
last_line -m tests.fuzz.differential "$cases" "$seed"
echo "== SPARQL results"
# In short, the kernel's own tests: the others take minutes.
last_line -m pytest -p no:cacheprovider --hypothesis-profile=patient -k "not python" \
    tests/sparql${short:+/test_codec.py}
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
