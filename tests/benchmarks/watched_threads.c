/* A target with N threads, of which about 27 % run in any 100 ms: each sleeps 317 ms (spread), then works for ~15 us. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void *work(void *arg) {
    unsigned seed = (unsigned)(size_t)arg * 2654435761u + 1;
    struct timespec first = {0, (long)(rand_r(&seed) % 317000000u)};
    nanosleep(&first, NULL);
    for (volatile long sum = 0;; sum = 0) {
        for (int i = 0; i < 8000; i++) sum += i;
        struct timespec pause = {0, 310000000L + (long)(rand_r(&seed) % 14000000u)};
        nanosleep(&pause, NULL);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 32;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 65536);
    for (int i = 1; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &attr, work, (void *)(size_t)i)) { perror("pthread_create"); return 1; }
    }
    puts("ready");
    fflush(stdout);
    work(NULL);
}
