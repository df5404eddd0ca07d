// SPDX-License-Identifier: GPL-2.0-or-later
// The two keys, on all keyboards that have one of them. happed opens no device and calls no ioctl: happed-keys hands it
// descriptors from which it can read only these keys (docs/daemon.md, "Two processes").
#pragma once

#include "governor/core/press_series.h"
#include "governor/core/result.h"
#include "governor/keys/key_binding.h"
#include "governor/keys/key_helper.h"
#include "governor/system/event_loop.h"

#include <linux/input.h>
#include <sys/inotify.h>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace happe {

// Watches /dev/input for new event nodes. The directory need not exist yet, and may disappear and return.
class InputDirectory {
public:
    struct Hooks {
        std::function<void(const std::string& node)> appeared;
        std::function<void()> look_again;  // the directory appeared, or the kernel lost events
        std::function<void(const Error&)> failed;
    };

    // Calls the hooks only from the event loop.
    static Result<std::unique_ptr<InputDirectory>> watch(EventLoop& loop, std::filesystem::path path, Hooks hooks);

private:
    InputDirectory(EventLoop& loop, std::filesystem::path path, Hooks hooks);

    Status watch_nodes();
    [[nodiscard]] int add(EventSource& to, const std::filesystem::path& directory, std::uint32_t events);
    void changed(const inotify_event& event);
    void look_again();

    EventLoop& loop_;
    std::filesystem::path path_;
    Hooks hooks_;
    EventSource nodes_;   // null while there is no directory
    EventSource parent_;  // null while there is a directory
};

class EvdevKeys final : public KeySource {
public:
    static constexpr std::size_t kMostWaiting = 256;  // presses; beyond this, drops the oldest
    static constexpr Micros kHelperTime = std::chrono::seconds{10};
    static constexpr Micros kRetryAfter = std::chrono::seconds{1};

    struct Paths {
        std::string devices = "/dev/input";
        std::string helper = "/run/happe-keys.sock";
    };

    // Callbacks to the owner. The event loop makes all calls, outside of calls of this class.
    struct Hooks {
        std::function<void()> pressed;            // presses wait for take()
        std::function<void()> keyboards_changed;  // see keyboards()
        std::function<void(const Error&)> failed;
    };

    // `loop` must outlive the object, which looks for keyboards when the loop runs.
    EvdevKeys(EventLoop& loop, const KeyBindings& bindings, Hooks hooks, Paths paths);
    EvdevKeys(EventLoop& loop, const KeyBindings& bindings, Hooks hooks)
        : EvdevKeys(loop, bindings, std::move(hooks), Paths()) {}
    ~EvdevKeys() override = default;
    EvdevKeys(const EvdevKeys&) = delete;
    EvdevKeys& operator=(const EvdevKeys&) = delete;

    // Appends the presses in order of time. No press of a key is earlier than one taken before.
    void take(std::vector<Press>& presses) override;

    // Closes all descriptors and asks for descriptors of these keys.
    void rebind(const KeyBindings& bindings);

    // The number of keyboards that have one of the two keys.
    [[nodiscard]] std::size_t keyboards() const { return keyboards_.size(); }

private:
    struct Keyboard {
        EvdevKeys& owner;
        std::string node;
        FileDescriptor file;
        EventSource source{};  // goes before the descriptor it watches
        Modifiers down{};
    };
    struct Wish {
        std::string node;  // or kAllNodes
        bool again = false;
    };

    void wish(Wish wish);
    void ask_after(Micros delay);
    void ask_next();
    void watch_directory();
    void answered(const Wish& wish, Result<KeyAnswers> answers);
    void failed(Wish wish, const Error& error);
    void add(HandedKeyboard handed);
    void readable(Keyboard& keyboard);
    void events(Keyboard& keyboard, std::span<const input_event> events);
    void key_event(Keyboard& keyboard, const input_event& event, MonoTime now);
    [[nodiscard]] Modifiers all_down() const;

    EventLoop& loop_;
    KeyBindings bindings_;
    Hooks hooks_;
    Paths paths_;
    std::map<std::string, std::unique_ptr<Keyboard>> keyboards_;  // by node
    std::deque<Wish> wishes_;
    std::unique_ptr<KeyHelperCall> call_;
    Alarm next_;  // the time to ask for the next wish
    std::vector<Press> waiting_;
    MonoTime taken_until_;
    std::unique_ptr<InputDirectory> directory_;
};

}  // namespace happe
