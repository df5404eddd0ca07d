// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/event_loop.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace happe {

Result<std::unique_ptr<EventLoop>> EventLoop::create() {
    std::unique_ptr<EventLoop> loop(new EventLoop);
    sd_event* event = nullptr;
    int result = sd_event_new(&event);
    loop->event_.reset(event);
    if (result >= 0) {
        loop->both_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
        result = loop->both_ ? loop->watch(sd_event_get_fd(event), nullptr) : -errno;
    }
    if (result < 0) {
        return failure(fmt::format("no event loop: {}", std::generic_category().message(-result)));
    }
    return loop;
}

int EventLoop::watch(int descriptor, Watched* whose) {
    epoll_event ready{.events = EPOLLIN, .data = {.ptr = whose}};
    return ::epoll_ctl(both_.get(), EPOLL_CTL_ADD, descriptor, &ready) == 0 ? 0 : -errno;
}

int EventLoop::attach(sd_bus* bus) {
    bus_ = bus;
    return sd_bus_attach_event(bus, get(), SD_EVENT_PRIORITY_NORMAL);
}

int EventLoop::run() {
    int status = 0;
    while (status >= 0 && sd_event_get_state(event_.get()) != SD_EVENT_FINISHED) {
        status = run_once(-1);
    }
    if (status >= 0) {
        sd_event_get_exit_code(event_.get(), &status);
    }
    return status;
}

int EventLoop::run_once(int most_ms) {
    int pending = sd_event_prepare(event_.get());
    if (pending == 0) {
        wait(most_ms);
        pending = sd_event_wait(event_.get(), 0);
    }
    return pending > 0 ? sd_event_dispatch(event_.get()) : pending;
}

// Waits until sd-event has something to do, or readable() has changed it. Takes one event at a time, so that it never
// calls an object that another one has just destroyed. The kernel reports ready descriptors in turn.
void EventLoop::wait(int most_ms) {
    touched_ = false;
    epoll_event ready{};
    do {
        ready.data.ptr = nullptr;
        if (::epoll_wait(both_.get(), &ready, 1, most_ms) == 1 && ready.data.ptr != nullptr) {
            static_cast<Watched*>(ready.data.ptr)->readable();
        }
    } while (ready.data.ptr != nullptr && is_undisturbed());
}

// True while sd-event is still prepared and the bus waits only for messages: it has none to send, and awaits no answer
// within a time. A loop must ask both before each wait: sd_bus_get_events(3), sd_bus_get_timeout(3).
bool EventLoop::is_undisturbed() const {
    std::uint64_t until = 0;
    return !touched_ &&
           (bus_ == nullptr || (sd_bus_get_events(bus_) == POLLIN && sd_bus_get_timeout(bus_, &until) == 0));
}

int Watched::watch(FileDescriptor file) {
    file_ = std::move(file);
    return file_ ? loop_.watch(file_.get(), this) : -errno;
}

// Another process may have the same open file, and then closing this descriptor would not end the watch.
Watched::~Watched() {
    ::epoll_ctl(loop_.both_.get(), EPOLL_CTL_DEL, file_.get(), nullptr);
}

Alarm::Alarm(EventLoop& loop, std::function<void()> due) : Watched(loop), due_(std::move(due)) {
    const int result = watch(FileDescriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)));
    if (result < 0) {
        throw std::system_error(-result, std::generic_category(), "no timer");
    }
}

// Setting the timer also makes it unreadable, so nobody must read it.
void Alarm::set(MonoTime at) {
    const Micros since_boot = std::max(at.time_since_epoch(), Micros{1});  // zero would cancel
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
    const itimerspec spec{
        .it_interval = {},
        .it_value = {.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(since_boot - seconds).count()}};
    ::timerfd_settime(file(), TFD_TIMER_ABSTIME, &spec, nullptr);
    set_ = true;
}

void Alarm::cancel() {
    const itimerspec never{};
    ::timerfd_settime(file(), 0, &never, nullptr);
    set_ = false;
}

void Alarm::readable() {
    set_ = false;
    due_();
    if (!set_) {
        cancel();
    }
}

}  // namespace happe
