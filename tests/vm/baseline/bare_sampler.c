// SPDX-License-Identifier: GPL-2.0-or-later
// The least a governor can do that samples once a second and keeps to the limits of others: reads the files that it is
// given, /proc/stat and some of cpufreq, and does nothing with them. The cost of happed is stated as a multiple of
// this.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

enum { MOST_FILES = 1024 };

int main(int count, char** names) {
    static char text[1 << 16];
    static int files[MOST_FILES];
    for (int i = 1; i < count && i < MOST_FILES; ++i) {
        files[i] = open(names[i], O_RDONLY);
    }
    struct timespec due;
    clock_gettime(CLOCK_MONOTONIC, &due);
    for (;;) {
        for (int i = 1; i < count && i < MOST_FILES; ++i) {
            if (pread(files[i], text, sizeof text, 0) <= 0) {
                return 1;
            }
        }
        ++due.tv_sec;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    }
}
