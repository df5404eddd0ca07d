// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/child.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

namespace happe::ctl {
namespace {

class SpawnAttributes {
public:
    explicit SpawnAttributes(const sigset_t& blocked) {
        sigset_t usual;
        sigemptyset(&usual);
        sigaddset(&usual, SIGPIPE);
        posix_spawnattr_init(&attributes_);
        posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        posix_spawnattr_setsigmask(&attributes_, &blocked);
        posix_spawnattr_setsigdefault(&attributes_, &usual);
    }
    SpawnAttributes(const SpawnAttributes&) = delete;
    SpawnAttributes& operator=(const SpawnAttributes&) = delete;
    ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }

    [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

private:
    posix_spawnattr_t attributes_{};
};

// glibc 2.36 declares pidfd_open() only for C.
FileDescriptor open_pidfd(pid_t pid) {
    return FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace

Outcome<Child> Child::start(const std::vector<std::string>& command, const sigset_t& blocked) {
    std::vector<std::string> words = command;
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    pid_t pid = 0;
    const SpawnAttributes attributes(blocked);
    if (const int error = posix_spawnp(&pid, arguments[0], nullptr, attributes.get(), arguments.data(), environ);
        error != 0) {
        return trouble(error == ENOENT ? kNotFound : kNotExecutable,
                       fmt::format("{}: cannot run: {}", command.front(), std::strerror(error)));
    }
    return Child(pid, open_pidfd(pid));
}

void Child::tell(int signal) const {
    ::kill(pid_, signal);
}

int Child::wait() const {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    constexpr int kSignalled = 128;
    return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace happe::ctl
