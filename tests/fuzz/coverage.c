// libFuzzer with embedded Python: runs inputs with tests/fuzz/targets.py, on a kernel built with
// coverage and sanitizers. An exception in Python ends the run, and so does a sanitizer's finding.
//
// FUZZ_TARGET is the name of a target; PYTHONPATH contains the project.

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t longest);

static PyObject *run_input;
static PyObject *mutate;

static PyObject *checked(PyObject *made) {
    if (made == NULL) {
        PyErr_Print();
        abort();
    }
    return made;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    Py_Initialize();
    PyObject *module = checked(PyImport_ImportModule("tests.fuzz.targets"));
    PyObject *made = checked(PyObject_CallMethod(module, "start", "s", getenv("FUZZ_TARGET")));
    run_input = checked(PySequence_GetItem(made, 0));
    mutate = checked(PySequence_GetItem(made, 1));
    Py_DECREF(made);
    Py_DECREF(module);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    PyObject *made =
        PyObject_CallFunction(run_input, "y#", (const char *)data, (Py_ssize_t)size);
    Py_DECREF(checked(made));
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t longest, unsigned int seed) {
    // Half of the mutations keep the structure of an input, and half do not.
    if (seed & 1)
        return LLVMFuzzerMutate(data, size, longest);
    PyObject *made = checked(PyObject_CallFunction(mutate, "y#nI", (const char *)data,
                                                   (Py_ssize_t)size, (Py_ssize_t)longest, seed));
    size = (size_t)PyBytes_GET_SIZE(made);
    memcpy(data, PyBytes_AS_STRING(made), size);
    Py_DECREF(made);
    return size;
}
