// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/program/unix_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>
#include <csignal>

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

}  // namespace

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

}  // namespace happe::ui
