// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/keys/evdev_keys.h"

#include "governor/keys/key_messages.h"
#include "governor/system/monotonic_clock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace happe {
namespace {

constexpr std::size_t kEventsAtOnce = 64;

// The values of an EV_KEY event (Documentation/input/event-codes.rst); a repeat is 2.
constexpr int kUp = 0;
constexpr int kDown = 1;

// The time at which the kernel saw the event, but never later than `now`.
MonoTime time_of(const input_event& event, MonoTime now) {
    const std::chrono::seconds seconds{event.input_event_sec};
    const Micros micros{event.input_event_usec};
    const bool possible = seconds.count() >= 0 &&
                          seconds <= std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()) &&
                          micros.count() >= 0 && micros < std::chrono::seconds{1};
    return possible ? std::min(now, MonoTime(seconds) + micros) : now;
}

// Reading must never make the loop wait.
bool make_nonblocking(const FileDescriptor& file) {
    const int flags = ::fcntl(file.get(), F_GETFL);
    return flags >= 0 && ::fcntl(file.get(), F_SETFL, flags | O_NONBLOCK) == 0;
}

}  // namespace

EvdevKeys::EvdevKeys(EventLoop& loop, const KeyBindings& bindings, Hooks hooks, Paths paths)
    : loop_(loop), bindings_(bindings), hooks_(std::move(hooks)), paths_(std::move(paths)), next_(loop, [this] {
          ask_next();
      }) {
    wish({.node = std::string(kAllNodes)});
}

void EvdevKeys::rebind(const KeyBindings& bindings) {
    bindings_ = bindings;
    call_.reset();
    wishes_.clear();
    keyboards_.clear();
    waiting_.clear();
    wish({.node = std::string(kAllNodes)});
}

void EvdevKeys::take(std::vector<Press>& presses) {
    if (waiting_.empty()) {
        return;
    }
    std::ranges::sort(waiting_, {}, &Press::at);
    for (Press& press : waiting_) {
        press.at = taken_until_ = std::max(press.at, taken_until_);
    }
    presses.insert(presses.end(), waiting_.begin(), waiting_.end());
    waiting_.clear();
}

// A wish for all nodes replaces all other wishes. Each node has at most one wish.
void EvdevKeys::wish(Wish wish) {
    const bool idle = wishes_.empty() && !call_;
    std::erase_if(wishes_, [&](const Wish& other) { return wish.node == kAllNodes || wish.node == other.node; });
    wishes_.push_back(std::move(wish));
    if (idle) {
        ask_after(Micros{0});
    }
}

// Asks the helper only from the loop, so that no hook runs within a call by the owner.
void EvdevKeys::ask_after(Micros delay) {
    next_.set(monotonic_now() + delay);
}

void EvdevKeys::ask_next() {
    if (call_ || wishes_.empty()) {
        return;
    }
    watch_directory();
    const Wish wish = std::move(wishes_.front());
    wishes_.pop_front();
    auto call = KeyHelperCall::ask(loop_.get(), paths_.helper, OpenRequest{.node = wish.node, .bindings = bindings_},
                                   kHelperTime,
                                   [this, wish](Result<KeyAnswers> answers) { answered(wish, std::move(answers)); });
    if (call) {
        call_ = std::move(*call);
    } else {
        failed(wish, call.error());
    }
}

// Call before you ask the helper for all nodes, so that you miss no new node.
void EvdevKeys::watch_directory() {
    if (directory_) {
        return;
    }
    auto directory = InputDirectory::watch(loop_, paths_.devices,
                                           {.appeared = [this](const std::string& node) { wish({.node = node}); },
                                            .look_again = [this] { wish({.node = std::string(kAllNodes)}); },
                                            .failed = [this](const Error& error) { hooks_.failed(error); }});
    if (directory) {
        directory_ = std::move(*directory);
    } else {
        hooks_.failed(directory.error());
    }
}

void EvdevKeys::answered(const Wish& wish, Result<KeyAnswers> answers) {
    call_.reset();
    if (!answers) {
        failed(wish, answers.error());
        return;
    }
    for (HandedKeyboard& handed : answers->keyboards) {
        add(std::move(handed));
    }
    if (!answers->keyboards.empty()) {
        hooks_.keyboards_changed();
    }
    if (!wishes_.empty()) {
        ask_after(Micros{0});
    }
}

// Tries once more a little later; if that fails too, reports the error to the owner.
void EvdevKeys::failed(Wish wish, const Error& error) {
    if (!wish.again) {
        wish.again = true;
        wishes_.push_back(std::move(wish));
        ask_after(kRetryAfter);
        return;
    }
    if (!wishes_.empty()) {
        ask_after(Micros{0});
    }
    hooks_.failed(error);
}

// Replaces a keyboard of the same node, which is now another device.
void EvdevKeys::add(HandedKeyboard handed) {
    std::unique_ptr<Keyboard> keyboard(new Keyboard{*this, handed.node, std::move(handed.file)});
    sd_event_source* source = nullptr;
    const int result = make_nonblocking(keyboard->file) ? sd_event_add_io(
                                                              loop_.get(), &source, keyboard->file.get(), EPOLLIN,
                                                              [](sd_event_source*, int, std::uint32_t, void* it) {
                                                                  auto& its = *static_cast<Keyboard*>(it);
                                                                  its.owner.readable(its);
                                                                  return 0;
                                                              },
                                                              keyboard.get())
                                                        : -errno;
    keyboard->source.reset(source);
    if (result < 0) {
        hooks_.failed({fmt::format("{}: {}", keyboard->node, std::generic_category().message(-result))});
        return;
    }
    keyboards_.insert_or_assign(keyboard->node, std::move(keyboard));
}

// An event device delivers whole events, and ENODEV after somebody has unplugged it.
void EvdevKeys::readable(Keyboard& keyboard) {
    std::array<input_event, kEventsAtOnce> buffer{};
    const ssize_t length = ::read(keyboard.file.get(), buffer.data(), sizeof(buffer));
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    const auto bytes = static_cast<std::size_t>(std::max<ssize_t>(length, 0));
    if (length > 0 && bytes % sizeof(input_event) == 0) {
        events(keyboard, std::span(buffer).first(bytes / sizeof(input_event)));
        return;
    }
    if (length >= 0 || errno != ENODEV) {
        const int error = length < 0 ? errno : EBADMSG;
        hooks_.failed({fmt::format("{}: {}", keyboard.node, std::generic_category().message(error))});
    }
    keyboards_.erase(keyboards_.find(keyboard.node));
    hooks_.keyboards_changed();
}

void EvdevKeys::events(Keyboard& keyboard, std::span<const input_event> events) {
    const MonoTime now = monotonic_now();
    const std::size_t before = waiting_.size();
    for (const input_event& event : events) {
        if (event.type == EV_SYN && event.code == SYN_DROPPED) {
            keyboard.down = {};  // the kernel dropped events; later ones are complete
        } else if (event.type == EV_KEY && (event.value == kUp || event.value == kDown)) {
            key_event(keyboard, event, now);
        }
    }
    const bool any = waiting_.size() > before;
    if (waiting_.size() > kMostWaiting) {
        waiting_.erase(waiting_.begin(), waiting_.end() - kMostWaiting);
    }
    if (any) {
        hooks_.pressed();
    }
}

void EvdevKeys::key_event(Keyboard& keyboard, const input_event& event, MonoTime now) {
    keyboard.down.turn(event.code, event.value == kDown);
    if (event.value == kUp) {
        return;
    }
    if (const auto key = pressed_key(bindings_, event.code, all_down())) {
        waiting_.push_back({.key = *key, .at = time_of(event, now)});
    }
}

// People hold a modifier on one keyboard and press a key on another.
Modifiers EvdevKeys::all_down() const {
    Modifiers down;
    for (const auto& [node, keyboard] : keyboards_) {
        down.add(keyboard->down);
    }
    return down;
}

InputDirectory::InputDirectory(EventLoop& loop, std::filesystem::path path, Hooks hooks)
    : loop_(loop), path_(std::move(path)), hooks_(std::move(hooks)) {}

Result<std::unique_ptr<InputDirectory>> InputDirectory::watch(EventLoop& loop, std::filesystem::path path,
                                                              Hooks hooks) {
    std::unique_ptr<InputDirectory> directory(new InputDirectory(loop, std::move(path), std::move(hooks)));
    if (const Status watched = directory->watch_nodes(); !watched) {
        return tl::unexpected<Error>(watched.error());
    }
    return directory;
}

int InputDirectory::add(EventSource& to, const std::filesystem::path& directory, std::uint32_t events) {
    sd_event_source* source = nullptr;
    const int result = sd_event_add_inotify(
        loop_.get(), &source, directory.c_str(), events | IN_ONLYDIR,
        [](sd_event_source*, const inotify_event* event, void* self) {
            static_cast<InputDirectory*>(self)->changed(*event);
            return 0;
        },
        this);
    to.reset(source);
    return result;
}

// Watches the parent instead while there is no directory.
Status InputDirectory::watch_nodes() {
    const auto refused = [](const std::filesystem::path& path, int error) {
        return failure(fmt::format("{}: {}", path.string(), std::generic_category().message(-error)));
    };
    const int result = add(nodes_, path_, IN_CREATE | IN_DELETE_SELF);
    if (result >= 0) {
        parent_.reset();
        return {};
    }
    if (result != -ENOENT) {
        return refused(path_, result);
    }
    if (parent_) {
        return {};
    }
    const int watched = add(parent_, path_.parent_path(), IN_CREATE);
    return watched < 0 ? refused(path_.parent_path(), watched) : watch_nodes();  // it may have appeared meanwhile
}

void InputDirectory::changed(const inotify_event& event) {
    const std::string name = event.len != 0 ? &event.name[0] : "";
    if ((event.mask & (IN_DELETE_SELF | IN_Q_OVERFLOW)) != 0 || name == path_.filename()) {
        look_again();
    } else if (nodes_ && (event.mask & IN_CREATE) != 0 && is_event_node(name)) {
        hooks_.appeared(name);
    }
}

void InputDirectory::look_again() {
    if (const Status watched = watch_nodes(); !watched) {
        hooks_.failed(watched.error());
    } else if (nodes_) {
        hooks_.look_again();
    }
}

}  // namespace happe
