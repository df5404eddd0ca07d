// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/program/end_signals.h"

#include "ui/program/unix_signals.h"

#include <sys/eventfd.h>
#include <sysexits.h>
#include <unistd.h>
#include <chrono>
#include <csignal>
#include <thread>

namespace happe::ui {
namespace {

constexpr std::chrono::seconds kToEndInOrder{2};

// An eventfd that becomes readable with the first signal. Nothing closes it: the thread uses it to the end.
int file_of_signals() {
    UnixSignals::block({SIGTERM, SIGINT});
    const int file = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    std::thread([file] {
        sigset_t wanted;
        ::sigemptyset(&wanted);
        ::sigaddset(&wanted, SIGTERM);
        ::sigaddset(&wanted, SIGINT);
        int number = 0;
        ::sigwait(&wanted, &number);
        ::eventfd_write(file, 1);
        std::this_thread::sleep_for(kToEndInOrder);
        ::_exit(EX_OK);
    }).detach();
    return file;
}

}  // namespace

EndSignals::EndSignals() : readable_(file_of_signals(), QSocketNotifier::Read) {
    connect(&readable_, &QSocketNotifier::activated, this, [this] {
        readable_.setEnabled(false);
        emit came();
    });
}

}  // namespace happe::ui
