// SPDX-License-Identifier: GPL-2.0-or-later
// The least work of a governor that samples once a second and keeps to the limits of others. It waits like a daemon
// that also has keys and a bus, reads the numbers in the given files (/proc/stat and some of cpufreq), and ignores
// them. The documents state the cost of happed as a multiple of this.
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { MOST_FILES = 1024 };

// Adds all numbers, so that the compiler reads them all. Of /proc/stat it reads those before "intr", as happed does.
static unsigned long sum_of(const char* text, long length) {
    unsigned long sum = 0;
    unsigned long number = 0;
    for (long i = 0; i < length && text[i] != 'i'; ++i) {
        if (text[i] >= '0' && text[i] <= '9') {
            number = number * 10 + (unsigned long)(text[i] - '0');
        } else {
            sum += number;
            number = 0;
        }
    }
    return sum;
}

int main(int count, char** names) {
    static char text[1 << 16];
    static int files[MOST_FILES];
    static volatile unsigned long sum;
    for (int i = 1; i < count && i < MOST_FILES; ++i) {
        files[i] = open(names[i], O_RDONLY);
    }
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    const int events = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    struct itimerspec due = {0};
    if (epoll_ctl(events, EPOLL_CTL_ADD, timer, &event) != 0 || clock_gettime(CLOCK_MONOTONIC, &due.it_value) != 0) {
        perror("bare-sampler");
        return 1;
    }
    for (;;) {
        for (int i = 1; i < count && i < MOST_FILES; ++i) {
            const long length = pread(files[i], text, sizeof text, 0);
            if (length <= 0) {
                return 1;
            }
            sum += sum_of(text, length);
        }
        ++due.it_value.tv_sec;
        timerfd_settime(timer, TFD_TIMER_ABSTIME, &due, NULL);
        while (epoll_wait(events, &event, 1, -1) < 1) {
        }
    }
}
