// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/indicator/stop_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>
#include <csignal>

namespace happe::ui {
namespace {

int signals_as_file() {
    sigset_t wanted;
    ::sigemptyset(&wanted);
    ::sigaddset(&wanted, SIGTERM);
    ::sigaddset(&wanted, SIGINT);
    ::sigprocmask(SIG_BLOCK, &wanted, nullptr);
    return ::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

}  // namespace

StopSignals::StopSignals() : file_(signals_as_file()), readable_(file_, QSocketNotifier::Read) {
    connect(&readable_, &QSocketNotifier::activated, this, [this] {
        readable_.setEnabled(false);
        emit asked();
    });
}

StopSignals::~StopSignals() {
    ::close(file_);
}

}  // namespace happe::ui
