#!/usr/bin/env bash
# Coverage-guided fuzzing of the compiled kernel under AddressSanitizer and
# UndefinedBehaviorSanitizer, by libFuzzer.
#
#     tests/fuzz/coverage.sh readers|writers SECONDS [PYTHON [FOLDER]]
#
# starts with tests/fuzz/corpus, and with streams and texts of the other fuzzers; it stops at the first
# finding. FOLDER stores the build, and for each target the inputs that gave new coverage (corpus) and
# the findings (crash-…, timeout-…, oom-…). A second run with the same FOLDER continues from there; with
# the file of a finding instead of SECONDS it runs that input. Without FOLDER, the command makes a new
# folder and prints its name.
#
#     tests/fuzz/coverage.sh readers minimize PYTHON FOLDER
#
# replaces tests/fuzz/corpus/readers with the smallest inputs that give the coverage of FOLDER's, as far
# as short inputs can.
#
# It needs clang with libFuzzer (on Debian: clang and libclang-rt-…-dev; set CLANG to use another
# version than the newest), and a Python built as a shared library, with the dev extra and Cython.
set -euo pipefail
cd "$(dirname "$0")/../.."
project=$PWD

target=$1
seconds=$2
python=${3:-python}
clang=${CLANG:-$(compgen -c clang | grep -xE 'clang(-[0-9]+)?' | sort -V | tail -n 1)}
JELLY_PLUGINS_SHARED=$(realpath -m "${JELLY_PLUGINS_SHARED:-../shared}")
export JELLY_PLUGINS_SHARED FUZZ_TARGET=$target

folder=${4:-$(mktemp -d)}
mkdir -p "$folder/$target/corpus"
folder=$(realpath "$folder")
build=$folder/build

# Adding 0 to a null pointer is not a defect: other revisions of C, and C++, allow it.
sanitizers="address,undefined -fno-sanitize-recover=undefined -fno-sanitize=pointer-overflow"
if [ ! -x "$build/fuzz" ]; then
    mkdir -p "$build"
    cp -r jelly_plugins conformance tests proto setup.py pyproject.toml README.md LICENSE "$build"
    find "$build/jelly_plugins" \( -name '_native.*.so' -o -name _native.c \) -delete
    # Do not build the kernel for rdflib, which this run does not fuzz.
    sed -i '/^    Path("jelly_plugins\/rdflib"),$/d' "$build/setup.py"
    (
        cd "$build"
        flags="-O1 -g1 -fno-omit-frame-pointer"
        CC=$clang LDSHARED="$clang -shared" \
            CFLAGS="$flags -fsanitize=fuzzer-no-link,$sanitizers" \
            LDFLAGS="-fsanitize=$sanitizers" \
            "$python" setup.py -q build_ext --inplace >build.log 2>&1 || {
            cat build.log
            exit 1
        }
        read -r include libs <<<"$("$python" - <<'PY'
import sysconfig
get = sysconfig.get_config_var
library = get("LIBDIR")
print(sysconfig.get_path("include"),
      f"-L{library} -L{get('LIBPL')} -Wl,-rpath,{library} -lpython{get('LDVERSION')} {get('LIBS')}")
PY
        )"
        # shellcheck disable=SC2086
        "$clang" $flags -fsanitize=fuzzer,$sanitizers -rdynamic "-I$include" \
            tests/fuzz/coverage.c $libs -o fuzz
    )
fi

[ ! -f "$seconds" ] || seconds=$(realpath "$seconds")

# Memory that Python itself does not free is not a finding, and Python's allocator would hide the ends of
# memory blocks.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
export PYTHONMALLOC=malloc PYTHONPATH=$build
PYTHONHOME=$("$python" -c 'import sys; print(sys.base_prefix)')
PYTHONPATH=$PYTHONPATH:$("$python" -c 'import os, sys; print(os.pathsep.join(filter(None, sys.path[1:])))')
export PYTHONHOME

corpus=$project/tests/fuzz/corpus/$target
cd "$folder/$target"
[ -d seeds ] || (cd "$build" && "$python" -m tests.fuzz.targets "$target" "$folder/$target/seeds")
fuzz() {
    "$build/fuzz" -timeout=60 -rss_limit_mb=4096 -max_len=4096 "$@"
}
case $seconds in
minimize)
    rm -rf smallest
    mkdir smallest
    fuzz -merge=1 -max_len=400 smallest "$corpus" corpus seeds
    rm -rf "$corpus"
    mv smallest "$corpus"
    ;;
*[!0-9]*)
    fuzz "$(realpath "$seconds")"
    ;;
*)
    echo "folder: $folder"
    fuzz -dict="$project/tests/fuzz/$target.dict" -max_total_time="$seconds" -print_final_stats=1 \
        corpus "$corpus" seeds
    ;;
esac
