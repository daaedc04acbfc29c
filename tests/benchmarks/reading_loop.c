/* The least that such sampling can cost: schedstat of every thread, stat (last CPU) of those that ran, in C.
   Usage: reading_loop PID INTERVAL_MS */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct thread { int schedstat, stat; char last[80]; int cpu; };

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    char path[128];
    snprintf(path, sizeof path, "/proc/%s/task", argv[1]);
    DIR *dir = opendir(path);
    if (!dir) { perror(path); return 1; }
    struct thread *threads = NULL;
    int count = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        threads = realloc(threads, sizeof *threads * (size_t)(count + 1));
        struct thread *t = &threads[count];
        memset(t, 0, sizeof *t);
        snprintf(path, sizeof path, "/proc/%s/task/%.20s/schedstat", argv[1], entry->d_name);
        t->schedstat = open(path, O_RDONLY);
        snprintf(path, sizeof path, "/proc/%s/task/%.20s/stat", argv[1], entry->d_name);
        t->stat = open(path, O_RDONLY);
        if (t->schedstat >= 0 && t->stat >= 0) count++;
    }
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (;;) {
        for (int i = 0; i < count; i++) {
            char now[80] = {0}, stat[1024];
            if (pread(threads[i].schedstat, now, sizeof now - 1, 0) <= 0) continue;
            if (!strcmp(now, threads[i].last)) continue;
            strcpy(threads[i].last, now);
            ssize_t got = pread(threads[i].stat, stat, sizeof stat - 1, 0);
            if (got <= 0) continue;
            stat[got] = 0;
            char *at = strrchr(stat, ')');
            for (int field = 0; at && field < 37; field++) at = strchr(at + 1, ' ');
            if (at) threads[i].cpu = atoi(at + 1);
        }
        next.tv_nsec += atol(argv[2]) * 1000000L;
        next.tv_sec += next.tv_nsec / 1000000000L;
        next.tv_nsec %= 1000000000L;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
}
