// SPDX-License-Identifier: GPL-2.0-or-later
// happe-keep: runs a program, and ends all processes that it started when it ends or when our standard input ends.
//   usage: happe-keep CPU GRACE_MS COMMAND [ARGUMENT]...        CPU: a number, or "any"
//
// Orphans below this process become its children (PR_SET_CHILD_SUBREAPER), so no process escapes by forking or by a new
// session. Standard input also ends if somebody kills the process at its other end. If somebody kills the keeper, the
// program ends too, but not the processes that it started. Exit status: 0 all have ended by themselves, 1 happe-keep
// ended them, 64 wrong usage, 71 the system refused, 126 the program can't start.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kEnded = 1;
constexpr int kNotStarted = 126;
constexpr int kLookMs = 20;  // between looks, while it ends them

int complain(const std::string& message, int status) {
    std::fputs(("happe-keep: " + message + "\n").c_str(), stderr);
    return status;
}

std::optional<int> number(std::string_view text) {
    int value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && stop == text.data() + text.size() && value >= 0 ? std::optional(value)
                                                                                   : std::nullopt;
}

// A process's parent; none if the process has gone.
std::optional<pid_t> parent_of(const std::filesystem::path& folder) {
    std::ifstream file(folder / "stat");
    const std::string stat((std::istreambuf_iterator<char>(file)), {});
    const auto name_end = stat.rfind(") ");  // the name may contain anything
    if (name_end == std::string::npos || stat.size() < name_end + 5) {
        return std::nullopt;
    }
    return static_cast<pid_t>(std::strtol(stat.c_str() + name_end + 4, nullptr, 10));
}

std::vector<pid_t> descendants() {
    std::multimap<pid_t, pid_t> children;
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
        const auto pid = number(entry.path().filename().string());
        if (const auto parent = pid ? parent_of(entry.path()) : std::nullopt) {
            children.emplace(*parent, *pid);
        }
    }
    std::vector<pid_t> found{::getpid()};
    for (std::size_t i = 0; i < found.size(); ++i) {
        const auto [first, last] = children.equal_range(found[i]);
        std::transform(first, last, std::back_inserter(found), [](const auto& pair) { return pair.second; });
    }
    found.erase(found.begin());
    return found;
}

void tell_all(int signal) {
    for (const pid_t pid : descendants()) {
        ::kill(pid, signal);
    }
}

// Reaps ended processes. True if `main` was among them, or if none is left.
bool reap(pid_t main) {
    bool ended = false;
    pid_t pid = 0;
    while ((pid = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
        ended = ended || pid == main;
    }
    return ended || pid < 0;
}

// Ends all processes: first by SIGTERM, after `grace` by SIGKILL, which also reaches those that start meanwhile.
void end_all(std::chrono::milliseconds grace) {
    const auto patience = Clock::now() + grace;
    tell_all(SIGTERM);
    tell_all(SIGCONT);  // stopped processes would not react
    while (!reap(0)) {
        if (Clock::now() >= patience) {
            tell_all(SIGKILL);
        }
        ::poll(nullptr, 0, kLookMs);
    }
}

bool pin(std::optional<int> cpu) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<unsigned>(cpu.value_or(0)), &only);
    return !cpu || ::sched_setaffinity(0, sizeof only, &only) == 0;
}

// In the child: makes it end with its keeper, even after a kill of the keeper. False if the keeper has ended already.
bool stay_with(pid_t keeper) {
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
        return false;
    }
    errno = ESRCH;
    return ::getppid() == keeper;
}

// In the child: becomes the program, or sends errno to the parent. Nothing keeps the program's output.
[[noreturn]] void become(std::span<char*> command, std::optional<int> cpu, pid_t keeper, int trouble) {
    ::setsid();
    if (stay_with(keeper) && pin(cpu)) {
        sigset_t none;
        ::sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        const int nothing = ::open("/dev/null", O_RDWR);
        for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
            ::dup2(nothing, file);
        }
        ::execvp(command.front(), command.data());
    }
    const int error = errno;
    static_cast<void>(::write(trouble, &error, sizeof error) + 1);
    ::_exit(kNotStarted);
}

struct Started {
    pid_t pid = 0;
    int error = 0;  // errno
};

Started start(std::span<char*> command, std::optional<int> cpu) {
    std::array<int, 2> trouble{};
    if (::pipe2(trouble.data(), O_CLOEXEC) != 0) {
        return {.pid = 0, .error = errno};
    }
    const pid_t keeper = ::getpid();
    Started started{.pid = ::fork(), .error = 0};
    if (started.pid < 0) {
        return {.pid = 0, .error = errno};
    }
    if (started.pid == 0) {
        become(command, cpu, keeper, trouble[1]);
    }
    ::close(trouble[1]);
    static_cast<void>(::read(trouble[0], &started.error, sizeof started.error) + 1);
    ::close(trouble[0]);
    return started;
}

// Waits until the program or standard input has ended; then ends all others.
int keep(pid_t main, int children, std::chrono::milliseconds grace) {
    std::array<pollfd, 2> files{
        {{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}, {.fd = children, .events = POLLIN, .revents = 0}}};
    int status = EX_OK;
    while (status == EX_OK && !reap(main)) {
        ::poll(files.data(), files.size(), -1);
        signalfd_siginfo told{};
        const bool asked =
            files[1].revents != 0 && ::read(children, &told, sizeof told) == sizeof told && told.ssi_signo != SIGCHLD;
        char byte = 0;
        const bool closed = files[0].revents != 0 && ::read(STDIN_FILENO, &byte, 1) <= 0;
        status = asked || closed ? kEnded : EX_OK;
    }
    end_all(grace);
    return status;
}

// A descriptor for SIGCHLD and the signals that ask this program to end.
int signals_as_file() {
    sigset_t wanted;
    ::sigemptyset(&wanted);
    for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) {
        ::sigaddset(&wanted, signal);
    }
    ::sigprocmask(SIG_BLOCK, &wanted, nullptr);
    return ::signalfd(-1, &wanted, SFD_CLOEXEC);
}

}  // namespace

int main(int argc, char** argv) {
    const std::span<char*> words(argv, static_cast<std::size_t>(argc) + 1);  // execvp wants the null at the end
    const bool any = argc > 3 && std::string_view(words[1]) == "any";
    const auto cpu = argc > 3 ? number(words[1]) : std::nullopt;
    const auto grace = argc > 3 ? number(words[2]) : std::nullopt;
    if ((!any && !cpu) || !grace || cpu.value_or(0) >= CPU_SETSIZE) {
        return complain("usage: happe-keep CPU|any GRACE_MS COMMAND [ARGUMENT]...", EX_USAGE);
    }
    const int children = signals_as_file();
    if (children < 0 || ::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
        return complain(std::generic_category().message(errno), EX_OSERR);
    }
    const Started started = start(words.subspan(3), cpu);
    if (started.error != 0) {
        return complain(std::string(words[3]) + ": " + std::generic_category().message(started.error), kNotStarted);
    }
    return keep(started.pid, children, std::chrono::milliseconds(*grace));
}
