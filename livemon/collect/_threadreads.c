/* The readings of many threads, taken in one call: the compiled twin of `PythonTable` (procfs_table.py).

   A tick reads `schedstat` of every thread and `stat` of those that were switched in since. The caches have
   gone to other programs since the tick before, so what counts is how much code and memory a tick touches:
   one row of 64 bytes for a thread, in one array, and no Python object before all is read. The interpreter
   lock is released meanwhile; nothing of Python may be touched then, and a call that would move rows is refused.
   Facts that seldom change (name, nice, policy, affinity) are read here only to see whether they did.

   What both tables hold (a test compares them on the same files):
   - a `schedstat` is three plain numbers of at most 18 digits as the kernel prints them, or it is no reading:
     the thread is then reported as one that can't be read (EBADMSG), and keeps its last reading;
   - the last CPU is the field so many fields from the end of a `stat` line, behind the name's closing
     parenthesis, else it is unknown (-1); it is read again only after the count of time slices moved.

   Only the stable ABI of Python 3.11 is used, so that one build serves every later version. */

#define _GNU_SOURCE
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

enum {
    SCHEDSTAT_BYTES = 80,
    STAT_BYTES = 1024,
    AFFINITY_BYTES = 1024, /* a bit for each CPU that the kernel could have: 8192 */
    DIGITS = 18, /* as many fit into 63 bits whatever they are; in ns, it is 31 years */
    CPU_DIGITS = 9,
    NICE = 16, RT_PRIORITY = 37, POLICY = 38, /* fields of stat behind the name, the state being 0 */
    UNKNOWN_CPU = -1,
    FIRST_ROWS = 64,
    COLUMNS = 5,
    INTERFACE = 1, /* to be raised when a method changes: a checkout may hold an older build */
};

struct row {
    int64_t cpu_ns, run_delay_ns, slices;
    int64_t index;
    int32_t schedstat_fd, stat_fd;
    int32_t last_cpu;
    int16_t fields_after_cpu; /* of a stat line; below 1: it has no such field */
    int16_t error; /* of the last read, when it failed */
    int32_t tid;
    int32_t is_known; /* whether the next holds anything */
    uint64_t facts; /* hash of what seldom changes, as it was last seen */
};

typedef struct {
    PyObject_HEAD
    struct row *rows;
    int32_t *found; /* by the last read: positions that changed from the front, unreadable ones from the back */
    Py_ssize_t count, room;
    int is_reading;
} Readings;

/* -- bytes to numbers */

/* The digits from `at`, so many at most; returns what is behind them, or NULL if there are none. */
static const char *parse_number(const char *at, const char *end, int most_digits, int64_t *number) {
    const char *begin = at;
    int64_t sum = 0;
    while (at < end && at - begin < most_digits && *at >= '0' && *at <= '9') sum = sum * 10 + (*at++ - '0');
    *number = sum;
    return at == begin ? NULL : at;
}

static int parse_schedstat(const char *text, ssize_t length, struct row *to) {
    static const char behind[3] = {' ', ' ', '\n'};
    int64_t *numbers[3] = {&to->cpu_ns, &to->run_delay_ns, &to->slices};
    const char *at = text, *end = text + length;
    for (int i = 0; i < 3; i++) {
        const char *begin = at;
        at = parse_number(begin, end, DIGITS, numbers[i]);
        if (!at || (*begin == '0' && at - begin > 1)) return 0;
        if (at == end || *at++ != behind[i]) return 0;
    }
    return at == end;
}

/* The last CPU of a `stat` line, counted from its end: the name is in front, and most of the line is not looked at. */
static int32_t parse_last_cpu(const char *text, ssize_t length, int fields_after_cpu) {
    if (fields_after_cpu < 1 || length < 1 || text[length - 1] != '\n') return UNKNOWN_CPU; /* torn */
    const char *end = text + length - 1, *begin = end;
    for (int field = 0;; field++) {
        while (begin > text && begin[-1] != ' ') begin--;
        if (begin == text) return UNKNOWN_CPU;
        if (field == fields_after_cpu) break;
        end = --begin;
    }
    int64_t cpu;
    if (parse_number(begin, end, CPU_DIGITS, &cpu) != end) return UNKNOWN_CPU;
    if (memchr(begin, ')', (size_t)(text + length - begin)) || !memchr(text, ')', (size_t)(begin - text)))
        return UNKNOWN_CPU;
    return (int32_t)cpu;
}

/* FNV-1a, 64 bits wide. */
static uint64_t hash(uint64_t sum, const char *from, const char *end) {
    for (; from < end; from++) sum = (sum ^ (unsigned char)*from) * 0x100000001b3u;
    return sum;
}

/* Of name, nice, real-time priority and policy in a `stat` line. */
static uint64_t hash_of_stat(const char *text, ssize_t length) {
    const char *end = text + length, *closing = end;
    uint64_t sum = 0xcbf29ce484222325u;
    while (closing > text && *--closing != ')') {}
    sum = hash(sum, text, closing);
    const char *at = closing;
    for (int field = -1; at < end && field <= POLICY; field++) {
        const char *behind = memchr(at, ' ', (size_t)(end - at));
        behind = behind ? behind + 1 : end;
        if (field == NICE || field == RT_PRIORITY || field == POLICY) sum = hash(sum, at, behind);
        at = behind;
    }
    return sum;
}

/* -- reading, without the interpreter lock */

static ssize_t read_again(int fd, char *to, size_t most) {
    ssize_t got;
    do got = pread(fd, to, most, 0);
    while (got < 0 && errno == EINTR);
    return got;
}

static void read_last_cpu(struct row *row) {
    char text[STAT_BYTES];
    ssize_t got = read_again(row->stat_fd, text, sizeof text);
    if (got >= 0)
        row->last_cpu = parse_last_cpu(text, got, row->fields_after_cpu);
    else if (errno != ESRCH && errno != ENOENT) /* those: it ended in between, which the next read finds */
        row->last_cpu = UNKNOWN_CPU;
}

/* Read every row; how many changed, and how many can't be read. */
static void read_rows(Readings *self, Py_ssize_t *changed, Py_ssize_t *unreadable) {
    Py_ssize_t front = 0, back = self->count;
    for (Py_ssize_t i = 0; i < self->count; i++) {
        struct row *row = &self->rows[i], now;
        char text[SCHEDSTAT_BYTES];
        ssize_t got = read_again(row->schedstat_fd, text, sizeof text);
        if (got < 0 || !parse_schedstat(text, got, &now)) {
            row->error = (int16_t)(got < 0 ? errno : EBADMSG);
            self->found[--back] = (int32_t)i;
            continue;
        }
        if (now.slices == row->slices && now.cpu_ns == row->cpu_ns && now.run_delay_ns == row->run_delay_ns) continue;
        self->found[front++] = (int32_t)i;
        int was_switched_in = now.slices != row->slices;
        row->cpu_ns = now.cpu_ns;
        row->run_delay_ns = now.run_delay_ns;
        row->slices = now.slices;
        if (was_switched_in) read_last_cpu(row);
    }
    *changed = front;
    *unreadable = self->count - back;
}

/* Whether what seldom changes has changed since it was looked at last; it has not been, at the first time. */
static int have_facts_changed(struct row *row) {
    char text[STAT_BYTES];
    ssize_t got = read_again(row->stat_fd, text, sizeof text);
    if (got < 0) return 0; /* it ended, which the next read finds */
    uint64_t facts = hash_of_stat(text, got);
#ifdef SYS_sched_getaffinity
    char cpus[AFFINITY_BYTES];
    long used = syscall(SYS_sched_getaffinity, row->tid, sizeof cpus, cpus);
    if (used > 0) facts = hash(facts, cpus, cpus + used);
#endif
    int has_changed = !row->is_known || facts != row->facts;
    row->facts = facts;
    row->is_known = 1;
    return has_changed;
}

/* -- the Python type */

static int is_usable(Readings *self) {
    if (!self->is_reading) return 1;
    PyErr_SetString(PyExc_RuntimeError, "another thread is reading");
    return 0;
}

static struct row *row_at(Readings *self, Py_ssize_t position) {
    if (position >= 0 && position < self->count) return &self->rows[position];
    PyErr_Format(PyExc_IndexError, "no thread at position %zd", position);
    return NULL;
}

static struct row *row_of(Readings *self, PyObject *position) {
    Py_ssize_t at = PyLong_AsSsize_t(position);
    return at == -1 && PyErr_Occurred() ? NULL : row_at(self, at);
}

static int make_room(Readings *self) {
    if (self->count < self->room) return 1;
    if (self->room > INT32_MAX / 2) {
        PyErr_NoMemory();
        return 0;
    }
    Py_ssize_t room = self->room ? self->room * 2 : FIRST_ROWS;
    struct row *rows = PyMem_Realloc(self->rows, (size_t)room * sizeof *rows);
    if (rows) self->rows = rows;
    int32_t *found = rows ? PyMem_Realloc(self->found, (size_t)room * sizeof *found) : NULL;
    if (!found) {
        PyErr_NoMemory();
        return 0;
    }
    self->found = found;
    self->room = room;
    return 1;
}

static PyObject *readings_add(Readings *self, PyObject *args) {
    struct row row = {0};
    long long index, cpu_ns, run_delay_ns, slices;
    if (!PyArg_ParseTuple(args, "iiihL(LLL)i:add", &row.tid, &row.schedstat_fd, &row.stat_fd, &row.fields_after_cpu,
                          &index, &cpu_ns, &run_delay_ns, &slices, &row.last_cpu))
        return NULL;
    row.index = index;
    row.cpu_ns = cpu_ns;
    row.run_delay_ns = run_delay_ns;
    row.slices = slices;
    if (!is_usable(self) || !make_room(self)) return NULL;
    self->rows[self->count++] = row;
    Py_RETURN_NONE;
}

static PyObject *readings_remove(Readings *self, PyObject *position) {
    struct row *row = is_usable(self) ? row_of(self, position) : NULL;
    if (!row) return NULL;
    *row = self->rows[--self->count];
    Py_RETURN_NONE;
}

/* A list of the first so many positions in `found`. */
static PyObject *list_found(Readings *self, Py_ssize_t count) {
    PyObject *positions = PyList_New(count);
    for (Py_ssize_t i = 0; positions && i < count; i++) {
        PyObject *position = PyLong_FromLong(self->found[i]);
        if (position)
            PyList_SetItem(positions, i, position);
        else
            Py_CLEAR(positions);
    }
    return positions;
}

static PyObject *readings_read(Readings *self, PyObject *Py_UNUSED(none)) {
    Py_ssize_t changed = 0, unreadable = 0;
    if (!is_usable(self)) return NULL;
    self->is_reading = 1;
    Py_BEGIN_ALLOW_THREADS
    read_rows(self, &changed, &unreadable);
    Py_END_ALLOW_THREADS
    self->is_reading = 0;

    PyObject *positions = list_found(self, changed), *failures = PyList_New(unreadable);
    if (!positions || !failures) goto failed;
    for (Py_ssize_t i = 0; i < unreadable; i++) { /* from the back: in the order of their positions */
        int32_t at = self->found[self->count - 1 - i];
        PyObject *failure = Py_BuildValue("(ii)", (int)at, (int)self->rows[at].error);
        if (!failure) goto failed;
        PyList_SetItem(failures, i, failure);
    }
    return Py_BuildValue("(NN)", positions, failures);
failed:
    Py_XDECREF(positions);
    Py_XDECREF(failures);
    return NULL;
}

static PyObject *readings_look(Readings *self, PyObject *args) {
    Py_ssize_t first, count, changed = 0;
    if (!PyArg_ParseTuple(args, "nn:look", &first, &count) || !is_usable(self)) return NULL;
    if (count > self->count) count = self->count;
    if (count > 0 && !row_at(self, first)) return NULL;
    self->is_reading = 1;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0, at = first; i < count; i++, at = at + 1 < self->count ? at + 1 : 0)
        if (have_facts_changed(&self->rows[at])) self->found[changed++] = (int32_t)at;
    Py_END_ALLOW_THREADS
    self->is_reading = 0;
    return list_found(self, changed);
}

static PyObject *readings_links(PyObject *Py_UNUSED(self), PyObject *descriptor) {
    struct stat about;
    int fd = PyObject_AsFileDescriptor(descriptor);
    if (fd < 0) return NULL;
    return fstat(fd, &about) ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromUnsignedLongLong(about.st_nlink);
}

static PyObject *readings_reading(Readings *self, PyObject *position) {
    struct row *row = is_usable(self) ? row_of(self, position) : NULL;
    if (!row) return NULL;
    return Py_BuildValue("(LLL)", (long long)row->cpu_ns, (long long)row->run_delay_ns, (long long)row->slices);
}

static PyObject *readings_last_cpu(Readings *self, PyObject *position) {
    struct row *row = is_usable(self) ? row_of(self, position) : NULL;
    return row ? PyLong_FromLong(row->last_cpu) : NULL;
}

/* Five columns of 64-bit numbers as bytes. */
static PyObject *readings_columns(Readings *self, PyObject *positions) {
    int everything = positions == Py_None;
    if (!is_usable(self)) return NULL;
    if (!everything && !PyList_Check(positions)) {
        PyErr_SetString(PyExc_TypeError, "positions come as a list, or None for all");
        return NULL;
    }
    Py_ssize_t length = everything ? self->count : PyList_Size(positions);
    PyObject *columns[COLUMNS] = {NULL}, *result = NULL;
    int64_t *numbers[COLUMNS];
    for (int k = 0; k < COLUMNS; k++) {
        columns[k] = PyBytes_FromStringAndSize(NULL, length * (Py_ssize_t)sizeof(int64_t));
        if (!columns[k]) goto done;
        numbers[k] = (int64_t *)(void *)PyBytes_AsString(columns[k]);
    }
    for (Py_ssize_t i = 0; i < length; i++) {
        struct row *row = everything ? &self->rows[i] : row_of(self, PyList_GetItem(positions, i));
        if (!row) goto done;
        const int64_t values[COLUMNS] = {row->index, row->cpu_ns, row->run_delay_ns, row->slices, row->last_cpu};
        for (int k = 0; k < COLUMNS; k++) memcpy(numbers[k] + i, &values[k], sizeof values[k]);
    }
    result = Py_BuildValue("(OOOOO)", columns[0], columns[1], columns[2], columns[3], columns[4]);
done:
    for (int k = 0; k < COLUMNS; k++) Py_XDECREF(columns[k]);
    return result;
}

static Py_ssize_t readings_length(Readings *self) { return self->count; }

static void readings_dealloc(Readings *self) {
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    PyMem_Free(self->rows);
    PyMem_Free(self->found);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyMethodDef readings_methods[] = {
    {"add", (PyCFunction)(void (*)(void))readings_add, METH_VARARGS, NULL},
    {"remove", (PyCFunction)(void (*)(void))readings_remove, METH_O, NULL},
    {"read", (PyCFunction)(void (*)(void))readings_read, METH_NOARGS, NULL},
    {"look", (PyCFunction)(void (*)(void))readings_look, METH_VARARGS, NULL},
    {"links", readings_links, METH_O, NULL},
    {"reading", (PyCFunction)(void (*)(void))readings_reading, METH_O, NULL},
    {"last_cpu", (PyCFunction)(void (*)(void))readings_last_cpu, METH_O, NULL},
    {"columns", (PyCFunction)(void (*)(void))readings_columns, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot readings_slots[] = {
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, readings_dealloc},
    {Py_tp_methods, readings_methods},
    {Py_sq_length, readings_length},
    {0, NULL},
};

static PyType_Spec readings_spec = {
    .name = "livemon.collect._threadreads.Readings",
    .basicsize = sizeof(Readings),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = readings_slots,
};

static int module_exec(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &readings_spec, NULL);
    if (!type) return -1;
    int failed = PyModule_AddType(module, (PyTypeObject *)type);
    Py_DECREF(type);
    return failed ? failed : PyModule_AddIntConstant(module, "INTERFACE", INTERFACE);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static struct PyModuleDef module_definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "livemon.collect._threadreads",
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__threadreads(void) { return PyModuleDef_Init(&module_definition); }
