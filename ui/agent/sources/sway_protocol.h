// SPDX-License-Identifier: GPL-2.0-or-later
// The part of sway's IPC (sway-ipc(7)) that concerns the focus: messages, and the tree of windows in JSON.
#pragma once

#include "ui/agent/focus.h"

#include <cstdint>
#include <string_view>

namespace happe::ui {

struct SwayMessage {
    // Types of events have the highest bit.
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
    // Enough for a tree of thousands of windows. A longer message is not sway's.
    static constexpr std::uint32_t kMostPayload = 16U << 20U;

    void add(std::string_view bytes) { pending_.append(bytes); }
    // The next complete message, if any. An error if this is not sway's protocol.
    [[nodiscard]] tl::expected<std::optional<SwayMessage>, std::string> next();

private:
    std::string pending_;
};

// True if another window may be in front after this event; not for titles and marks.
[[nodiscard]] bool moves_focus(const SwayMessage& event);

// The focused window, or the last focused one within a focused container; none on an empty workspace. An error if this
// is not a tree.
[[nodiscard]] tl::expected<std::optional<ToldWindow>, std::string> focus_in_tree(std::string_view json);

}  // namespace happe::ui
