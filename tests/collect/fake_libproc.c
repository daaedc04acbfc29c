/* The functions of macOS that livemon calls, with the structures as XNU lays them out, checked by the compiler. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct proc_threadcounts_data {
    uint64_t ptcd_instructions, ptcd_cycles, ptcd_user_time_mach, ptcd_system_time_mach, ptcd_energy_nj;
};
struct proc_threadcounts {
    uint16_t ptc_len, ptc_reserved0;
    uint32_t ptc_reserved1;
    struct proc_threadcounts_data ptc_counts[];
};
struct proc_threadinfo {
    uint64_t pth_user_time, pth_system_time;
    int32_t pth_cpu_usage, pth_policy, pth_run_state, pth_flags, pth_sleep_time, pth_curpri, pth_priority, pth_maxpriority;
    char pth_name[64];
};
_Static_assert(sizeof(struct proc_threadcounts_data) == 40, "five 64-bit numbers");
_Static_assert(offsetof(struct proc_threadcounts, ptc_counts) == 8, "8 bytes of header");
_Static_assert(sizeof(struct proc_threadinfo) == 112, "112 bytes");
_Static_assert(offsetof(struct proc_threadinfo, pth_name) == 48, "name at 48");

/* proc_pidthreadcounts copies out as much as the buffer holds, and only a buffer below its header is refused;
 * proc_pidlistthreads gives no error and nothing for a task without threads; other users' processes are refused
 * before it is looked which thread is asked for. */

/* What the tests set. */
int fake_levels = 2, fake_threads = 3, fake_pid = 0, fake_short = 0, fake_denied = 0, fake_fail_tid = 0, fake_calls = 0, fake_renamed = 0, fake_uncounted = 0, fake_emptied = 0;
int fake_counts_errno = 0, fake_translated = 0, fake_first_name = 0;
uint32_t fake_numer = 125, fake_denom = 3;
uint64_t fake_base = 1;

int proc_pidinfo(int pid, int flavor, uint64_t arg, void *buffer, int size) {
    fake_calls++;
    if (fake_denied) { errno = EPERM; return 0; }
    if (pid != fake_pid) { errno = ESRCH; return 0; }
    if (flavor == 28) {
        if (size < 8) { errno = ENOMEM; return 0; }
        if (fake_emptied) return 0;
        int room = size / (int)sizeof(uint64_t), n = fake_threads < room ? fake_threads : room;
        for (int i = 0; i < n; i++) ((uint64_t *)buffer)[i] = 0x100000000ull + (uint64_t)i;
        return n * (int)sizeof(uint64_t);
    }
    uint64_t i = arg - 0x100000000ull;
    if (arg < 0x100000000ull || i >= (uint64_t)fake_threads || (fake_fail_tid && arg == 0x100000000ull + (uint64_t)fake_fail_tid)) {
        errno = ESRCH;
        return 0;
    }
    if (flavor == 34) {
        int need = 8 + fake_levels * 40;
        if (fake_counts_errno) { errno = fake_counts_errno; return 0; }
        if (size < 8) { errno = ENOMEM; return 0; }
        char whole[8 + 3 * 40];
        struct proc_threadcounts *c = (void *)whole;
        memset(c, 0xEE, sizeof whole);
        c->ptc_len = (uint16_t)fake_levels;
        for (int level = 0; level < fake_levels; level++) {
            uint64_t k = fake_base * (uint64_t)(level + 1) * (i + 1);
            c->ptc_counts[level] = (struct proc_threadcounts_data){4000 * k, 1000 * k, 20 * k, 4 * k, 7};
            if (fake_uncounted) c->ptc_counts[level].ptcd_instructions = c->ptc_counts[level].ptcd_cycles = 0;
        }
        int given = fake_short ? need - 40 : need < size ? need : size;
        memcpy(buffer, whole, (size_t)given);
        return given;
    }
    if (flavor == 15) {
        if (size < (int)sizeof(struct proc_threadinfo)) { errno = ENOMEM; return 0; }
        struct proc_threadinfo *t = buffer;
        memset(t, 0, sizeof *t);
        t->pth_user_time = 5000 * (i + 1);
        t->pth_system_time = 50;
        strcpy(t->pth_name, i == 1 ? "com.apple.\033[31m" : i == 2 ? "" : fake_renamed ? "worker-0" : "main");
        return (int)sizeof *t;
    }
    errno = EINVAL;
    return 0;
}

int sysctlbyname(const char *name, void *old, size_t *size, void *new, size_t new_size) {
    (void)new, (void)new_size;
    const char *names[] = {"Performance", "Efficiency", "Super", "Performance"};
    const char **level_names = names + fake_first_name;
    if (!strcmp(name, "hw.tbfrequency") || !strcmp(name, "sysctl.proc_translated")) {
        int64_t value = name[0] == 'h' ? 24000000 : fake_translated; /* a quad; an int */
        size_t bytes = name[0] == 'h' ? 8 : 4;
        if (*size < bytes) { errno = ENOMEM; return -1; }
        memcpy(old, &value, bytes);
        *size = bytes;
        return 0;
    }
    if (!strcmp(name, "hw.nperflevels")) {
        if (*size < sizeof(int)) { errno = ENOMEM; return -1; }
        memcpy(old, &fake_levels, sizeof(int));
        *size = sizeof(int);
        return 0;
    }
    if (!strncmp(name, "hw.perflevel", 12)) {
        int level = name[12] - '0';
        if (level < 0 || level >= fake_levels) { errno = ENOENT; return -1; }
        if (!strcmp(name + 13, ".name")) {
            size_t need = strlen(level_names[level]) + 1;
            if (*size < need) { errno = ENOMEM; return -1; }
            memcpy(old, level_names[level], need);
            *size = need;
            return 0;
        }
        if (!strcmp(name + 13, ".logicalcpu")) {
            int64_t cpus = level ? 4 : 12;
            *size = *size >= 8 ? 8 : 4; /* sysctl_io_number: as many bytes as are asked for */
            memcpy(old, &cpus, *size);
            return 0;
        }
    }
    errno = ENOENT;
    return -1;
}

int mach_timebase_info(uint32_t *ratio) {
    ratio[0] = fake_numer, ratio[1] = fake_denom;
    return 0;
}
