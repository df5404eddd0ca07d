// SPDX-License-Identifier: GPL-2.0-or-later
// The least a governor that samples once a second can do: reads /proc/stat and does nothing with it. What happed costs
// is told as a multiple of this.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

int main(void) {
    static char text[1 << 16];
    const int file = open("/proc/stat", O_RDONLY);
    struct timespec due;
    clock_gettime(CLOCK_MONOTONIC, &due);
    while (pread(file, text, sizeof text, 0) > 0) {
        ++due.tv_sec;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    }
    return 1;
}
