// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>
#include <csignal>

namespace happe::study {
namespace {

sigset_t wanted() {
    sigset_t those;
    ::sigemptyset(&those);
    ::sigaddset(&those, SIGTERM);
    ::sigaddset(&those, SIGINT);
    ::sigaddset(&those, SIGUSR1);
    return those;
}

int signals_as_file() {
    const sigset_t those = wanted();
    return ::signalfd(-1, &those, SFD_CLOEXEC | SFD_NONBLOCK);
}

}  // namespace

void block_signals() {
    const sigset_t those = wanted();
    ::sigprocmask(SIG_BLOCK, &those, nullptr);
    std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error like a full disk
}

Signals::Signals() : file_(signals_as_file()), readable_(file_, QSocketNotifier::Read) {
    connect(&readable_, &QSocketNotifier::activated, this, [this] {
        signalfd_siginfo told{};
        while (::read(file_, &told, sizeof told) == sizeof told) {
            told.ssi_signo == SIGUSR1 ? emit experimenter() : emit stop();
        }
    });
}

Signals::~Signals() {
    ::close(file_);
}

}  // namespace happe::study
