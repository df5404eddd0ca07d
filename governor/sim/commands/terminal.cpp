// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/commands/terminal.h"

#include <sys/signalfd.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdio>

namespace happe {
namespace {

constexpr std::size_t kKeys = 0;
constexpr std::size_t kSignals = 1;

int watched_signals() {
    sigset_t watched;
    sigemptyset(&watched);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP}) {
        sigaddset(&watched, signal);
    }
    sigprocmask(SIG_BLOCK, &watched, nullptr);
    std::signal(SIGPIPE, SIG_IGN);  // a write to nobody fails instead
    return signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Makes keys arrive one at a time and without echo; Ctrl-C still signals. Returns the earlier settings, or nothing if
// this is not a terminal.
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
    : found_(make_raw(STDIN_FILENO)), sources_{{{STDIN_FILENO, POLLIN, 0}, {watched_signals(), POLLIN, 0}}} {
    if (found_) {
        std::fputs("A simulated T61 does this machine's work. Keys: f faster, s save power, q quit.\n", stderr);
    }
}

Terminal::~Terminal() {
    put_back();
    close(sources_[kSignals].fd);
}

void Terminal::put_back() {
    if (found_) {
        tcsetattr(STDIN_FILENO, TCSANOW, &*found_);
    }
}

// Ctrl-Z stops the process, with the terminal restored. Every other watched signal means to leave.
bool Terminal::stops() {
    signalfd_siginfo signal{};
    if (::read(sources_[kSignals].fd, &signal, sizeof signal) != sizeof signal || signal.ssi_signo != SIGTSTP) {
        return false;
    }
    put_back();
    raise(SIGSTOP);
    found_ = make_raw(STDIN_FILENO);
    return true;
}

Terminal::Event Terminal::wait(Micros time) {
    if (leaving_) {
        return Event::Leave;
    }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::max(time, Micros{0}));
    if (poll(sources_.data(), sources_.size(), static_cast<int>(wait.count())) <= 0) {
        return Event::Time;
    }
    if (sources_[kSignals].revents != 0) {
        return stops() ? Event::Time : Event::Leave;
    }
    return Event::Keys;
}

bool Terminal::read(MonoTime now) {
    std::array<char, 64> keys{};
    const ssize_t count = ::read(STDIN_FILENO, keys.data(), keys.size());
    if (count <= 0) {
        sources_[kKeys].fd = -1;  // end of input: no more keys
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
