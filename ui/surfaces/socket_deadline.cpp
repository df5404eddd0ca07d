// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/surfaces/socket_deadline.h"

#include <sys/socket.h>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace happe::ui {
namespace {

constexpr std::chrono::seconds kMostWait{1};

void shut_down_late(const std::stop_token& answered, int file) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, answered, kMostWait, [] { return false; });
    if (!answered.stop_requested()) {
        ::shutdown(file, SHUT_RDWR);
    }
}

}  // namespace

SocketDeadline::SocketDeadline(int file)
    : thread_([file](const std::stop_token& answered) { shut_down_late(answered, file); }) {}

}  // namespace happe::ui
