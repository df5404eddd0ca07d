// SPDX-License-Identifier: GPL-2.0-or-later
// sway's IPC (sway-ipc(7)), as far as the focus goes: messages, and the tree of windows in JSON.
#pragma once

#include "ui/agent/focus.h"

#include <cstdint>
#include <string_view>

namespace happe::ui {

struct SwayMessage {
    // Events have the highest bit.
    static constexpr std::uint32_t kSubscribe = 2;
    static constexpr std::uint32_t kGetTree = 4;
    static constexpr std::uint32_t kWorkspaceEvent = 0x80000000;
    static constexpr std::uint32_t kWindowEvent = 0x80000003;

    std::uint32_t type = 0;
    std::string payload;
};

[[nodiscard]] std::string in_bytes(const SwayMessage& message);

// Assembles messages from the bytes that arrive.
class SwayReader {
public:
    // A tree of thousands of windows; what says that it is longer is not sway.
    static constexpr std::uint32_t kMostPayload = 16U << 20U;

    void add(std::string_view bytes) { pending_.append(bytes); }
    // The next one that is whole. An error: this is not sway's protocol.
    [[nodiscard]] tl::expected<std::optional<SwayMessage>, std::string> next();

private:
    std::string pending_;
};

// Whether another window may be in front after this event: titles and marks change nothing.
[[nodiscard]] bool moves_focus(const SwayMessage& event);

// The window with the focus, or the one within the focused container that had it last; none on an empty workspace. An
// error: this is no tree.
[[nodiscard]] tl::expected<std::optional<ToldWindow>, std::string> focus_in_tree(std::string_view json);

}  // namespace happe::ui
