// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/app/terminal.h"

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>

namespace happe {
namespace {

constexpr std::size_t kKeys = 0;
constexpr std::size_t kSignals = 1;

int stop_signals() {
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGINT);
    sigaddset(&stop, SIGTERM);
    sigprocmask(SIG_BLOCK, &stop, nullptr);
    return signalfd(-1, &stop, SFD_CLOEXEC);
}

// Keys one at a time and not shown; Ctrl-C still signals. What was found, or nothing if this is no terminal.
std::optional<termios> make_raw(int descriptor) {
    termios found{};
    if (tcgetattr(descriptor, &found) != 0) {
        return std::nullopt;
    }
    termios raw = found;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    return tcsetattr(descriptor, TCSANOW, &raw) == 0 ? std::optional(found) : std::nullopt;
}

}  // namespace

Terminal::Terminal()
    : found_(make_raw(STDIN_FILENO)), sources_{{{STDIN_FILENO, POLLIN, 0}, {stop_signals(), POLLIN, 0}}} {
    if (found_) {
        fmt::print(stderr, "A simulated T61 does this machine's work. Keys: f faster, s save power, q quit.\n");
    }
}

Terminal::~Terminal() {
    if (found_) {
        tcsetattr(STDIN_FILENO, TCSANOW, &*found_);
    }
    close(sources_[kSignals].fd);
}

Terminal::Event Terminal::wait(Micros time) {
    if (leaving_) {
        return Event::Leave;
    }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::max(time, Micros{0}));
    if (poll(sources_.data(), sources_.size(), static_cast<int>(wait.count())) <= 0) {
        return Event::Time;
    }
    return sources_[kSignals].revents != 0 ? Event::Leave : Event::Keys;
}

bool Terminal::read(MonoTime now) {
    std::array<char, 64> keys{};
    const ssize_t count = ::read(STDIN_FILENO, keys.data(), keys.size());
    if (count <= 0) {
        sources_[kKeys].fd = -1;  // at its end: there are no keys from now on
    }
    for (ssize_t i = 0; i < count; ++i) {
        typed(keys.at(static_cast<std::size_t>(i)), now);
    }
    return !waiting_.empty();
}

void Terminal::typed(char key, MonoTime now) {
    switch (key) {
        case 'f':
        case '+':
            waiting_.push_back({Key::Performance, now});
            break;
        case 's':
        case '-':
            waiting_.push_back({Key::Power, now});
            break;
        case 'q':
            leaving_ = true;
            break;
        default:
            break;
    }
}

void Terminal::take(std::vector<Press>& presses) {
    presses.insert(presses.end(), waiting_.begin(), waiting_.end());
    waiting_.clear();
}

}  // namespace happe
