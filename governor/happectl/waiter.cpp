// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/waiter.h"

#include "governor/system/monotonic_clock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

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

Outcome<Child> Child::start(const std::vector<std::string>& command, const sigset_t& blocked,
                            std::optional<int> output) {
    std::vector<std::string> words = command;
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    pid_t pid = 0;
    const SpawnAttributes attributes(blocked);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    if (output) {
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&files, *output, STDOUT_FILENO);
    }
    const int error = posix_spawnp(&pid, arguments[0], &files, attributes.get(), arguments.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    if (error != 0) {
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

namespace {

constexpr std::chrono::seconds kBetweenTries{1};  // to reach a bus that is gone

Slot match(sd_bus* bus, const Address& sender, const char* member, sd_bus_message_handler_t handler, void* self) {
    sd_bus_slot* slot = nullptr;
    sd_bus_match_signal(bus, &slot, sender.service.c_str(), sender.path.c_str(), sender.interface.c_str(), member,
                        handler, self);
    return Slot(slot);
}

timespec until_time(MonoTime until) {
    constexpr std::int64_t kMicrosInSecond = 1'000'000;
    const std::int64_t micros = std::clamp<std::int64_t>((until - monotonic_now()).count(), 0, 3600 * kMicrosInSecond);
    return {.tv_sec = micros / kMicrosInSecond, .tv_nsec = micros % kMicrosInSecond * 1000};
}

}  // namespace

Waiter::Waiter(DaemonProxy& daemon, std::span<const int> signals)
    : daemon_(daemon), found_pipe_(std::signal(SIGPIPE, SIG_IGN)) {
    listen();
    sigset_t events;
    sigemptyset(&events);
    for (const int signal : signals) {
        sigaddset(&events, signal);
    }
    sigprocmask(SIG_BLOCK, &events, &found_);
    signals_ = FileDescriptor(::signalfd(-1, &events, SFD_NONBLOCK | SFD_CLOEXEC));
}

Waiter::~Waiter() {
    std::signal(SIGPIPE, found_pipe_);
    sigprocmask(SIG_SETMASK, &found_, nullptr);
}

void Waiter::listen() {
    sd_bus* const bus = daemon_.bus().get();
    properties_ = match(bus, kDaemon.properties(), "PropertiesChanged", changed, this);
    keys_ = match(bus, kDaemon, "KeyCounted", counted, this);
    bus::take(owner_, [&](sd_bus_slot** raw) {
        return sd_bus_add_match(bus, raw, bus::owner_changes(kDaemonName).c_str(), owner_changed, this);
    });
}

// Nobody announces a daemon that was on the new bus before this program.
void Waiter::connect_again() {
    auto again = DaemonProxy::connect();
    if (!again) {
        return;
    }
    daemon_ = *std::move(again);
    listen();
    const int found = bus::find_owner(daemon_.bus().get(), kDaemonName);
    returned_ = found >= 0;
    broken_ = found < 0 && found != -ENXIO;  // -ENXIO: nobody has the name
}

int Waiter::changed(sd_bus_message* /*message*/, void* self, sd_bus_error* /*error*/) {
    static_cast<Waiter*>(self)->changed_ = true;
    return 0;
}

int Waiter::counted(sd_bus_message* message, void* self, sd_bus_error* error) {
    static_cast<Waiter*>(self)->counted_ = true;
    return changed(message, self, error);
}

int Waiter::owner_changed(sd_bus_message* message, void* self, sd_bus_error* /*error*/) {
    const char* name = nullptr;
    const char* before = nullptr;
    const char* after = nullptr;
    if (sd_bus_message_read(message, "sss", &name, &before, &after) > 0) {
        auto* const waiter = static_cast<Waiter*>(self);
        waiter->left_ = waiter->left_ || *before != '\0';
        waiter->returned_ = *after != '\0';
    }
    return 0;
}

// Takes the oldest event of the bus since the last call. When the bus is gone, reports once that the daemon left.
bool Waiter::take_bus_event(Event& event) {
    if (broken_) {
        connect_again();
    }
    int result = 0;
    while (!broken_ && (result = sd_bus_process(daemon_.bus().get(), nullptr)) > 0) {
    }
    if (result < 0) {
        broken_ = left_ = true;
    }
    for (const auto& [flag, meaning] :
         {std::pair{&left_, Event::Left}, {&returned_, Event::Returned}, {&changed_, Event::Changed}}) {
        if (std::exchange(*flag, false)) {
            event = meaning;
            return true;
        }
    }
    return false;
}

bool Waiter::take_signal() {
    signalfd_siginfo information{};
    if (::read(signals_.get(), &information, sizeof information) != sizeof information) {
        return false;
    }
    signal_ = static_cast<int>(information.ssi_signo);
    from_key_ = information.ssi_code == SI_KERNEL;
    return true;
}

void Waiter::pass_signal_to(const Child& child) const {
    if (!from_key_) {
        child.tell(signal_);
    }
}

void Waiter::poll(MonoTime until, const Child* child, bool& ended) {
    std::uint64_t bus_due = UINT64_MAX;
    sd_bus* const connection = daemon_.bus().get();
    const int bus = broken_ ? -1 : sd_bus_get_fd(connection);
    const int events = broken_ ? 0 : sd_bus_get_events(connection);
    if (broken_) {
        until = std::min(until, monotonic_now() + kBetweenTries);
    } else if (sd_bus_get_timeout(connection, &bus_due) > 0) {
        until =
            std::min(until, MonoTime(Micros(static_cast<std::int64_t>(std::min<std::uint64_t>(bus_due, INT64_MAX)))));
    }
    std::array<pollfd, 3> waited = {pollfd{bus, static_cast<short>(std::max(events, 0)), 0},
                                    pollfd{signals_.get(), POLLIN, 0},
                                    pollfd{child != nullptr ? child->descriptor() : -1, POLLIN, 0}};
    const timespec limit = until_time(until);
    ended = ::ppoll(waited.data(), waited.size(), &limit, nullptr) > 0 && waited[2].revents != 0;
}

Waiter::Event Waiter::wait(MonoTime until, const Child* child) {
    for (bool ended = false;;) {
        if (ended) {
            return Event::Ended;
        }
        if (take_signal()) {
            return Event::Signal;
        }
        if (Event event{}; take_bus_event(event)) {
            return event;
        }
        if (monotonic_now() >= until) {
            return Event::Time;
        }
        poll(until, child, ended);
    }
}

}  // namespace happe::ctl
