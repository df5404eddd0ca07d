// SPDX-License-Identifier: GPL-2.0-or-later
// The least that a program can do between a key and a frequency: it reads an event and writes a file. The documents
// state happed's time as a multiple of this one.
//   usage: bare-keys /dev/input/eventN SCALING_SETSPEED KHZ-OF-KEY_PROG1 KHZ-OF-KEY_PROG2
#include <fcntl.h>
#include <linux/input.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
    if (argc != 5) {
        return 64;
    }
    const int keyboard = open(argv[1], O_RDONLY);
    const int speed = open(argv[2], O_WRONLY);
    struct input_event event;
    while (read(keyboard, &event, sizeof event) == sizeof event) {
        if (event.type == EV_KEY && event.value == 1) {
            const char* const khz = event.code == KEY_PROG1 ? argv[3] : argv[4];
            if (pwrite(speed, khz, strlen(khz), 0) < 0) {
                return 74;
            }
        }
    }
    return 1;
}
