// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/program.h"

#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sysexits.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

namespace happe::ui {
namespace {

sigset_t set_of(std::initializer_list<int> numbers) {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int number : numbers) {
        ::sigaddset(&set, number);
    }
    return set;
}

int as_file(std::initializer_list<int> numbers) {
    UnixSignals::block(numbers);
    const sigset_t wanted = set_of(numbers);
    return ::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

constexpr std::chrono::seconds kToEndInOrder{2};

// An eventfd that becomes readable with the first signal. Nothing closes it: the thread uses it to the end.
int file_of_signals() {
    UnixSignals::block({SIGTERM, SIGINT});
    const int file = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    std::thread([file] {
        const sigset_t wanted = set_of({SIGTERM, SIGINT});
        int number = 0;
        ::sigwait(&wanted, &number);
        ::eventfd_write(file, 1);
        std::this_thread::sleep_for(kToEndInOrder);
        ::_exit(EX_OK);
    }).detach();
    return file;
}

}  // namespace

bool has_screen(const char* program) {
    const std::initializer_list<const char*> named{"WAYLAND_DISPLAY", "DISPLAY", "QT_QPA_PLATFORM"};
    if (std::ranges::any_of(named, [](const char* name) { return !qEnvironmentVariableIsEmpty(name); })) {
        return true;
    }
    std::fprintf(stderr, "%s: no window system: neither WAYLAND_DISPLAY nor DISPLAY is set; start it in a desktop\n",
                 program);
    return false;
}

void UnixSignals::block(std::initializer_list<int> numbers) {
    const sigset_t wanted = set_of(numbers);
    ::sigprocmask(SIG_BLOCK, &wanted, nullptr);
}

UnixSignals::UnixSignals(std::initializer_list<int> numbers)
    : file_(as_file(numbers)), readable_(file_, QSocketNotifier::Read) {
    connect(&readable_, &QSocketNotifier::activated, this, [this] {
        signalfd_siginfo told{};
        while (::read(file_, &told, sizeof told) == sizeof told) {
            emit came(static_cast<int>(told.ssi_signo));
        }
    });
}

UnixSignals::~UnixSignals() {
    ::close(file_);
}

EndSignals::EndSignals() : readable_(file_of_signals(), QSocketNotifier::Read) {
    connect(&readable_, &QSocketNotifier::activated, this, [this] {
        readable_.setEnabled(false);
        emit came();
    });
}

}  // namespace happe::ui
