// SPDX-License-Identifier: GPL-2.0-or-later
// Which key, with which modifiers, is one of the two: "KEY_PROG1", "LEFTCTRL+KEY_F12", "CTRL+META+KEY_UP".
#pragma once

#include "governor/core/result.h"
#include "governor/core/units.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace happe {

using KeyCode = std::uint16_t;  // of EV_KEY, as linux/input-event-codes.h numbers them

// For each of CTRL, ALT, SHIFT and META the sides of the keyboard. In a binding: those that will do, none if the
// modifier isn't asked for. Of a keyboard: those that are down.
class Modifiers {
public:
    static constexpr std::size_t kKinds = 4;
    static constexpr std::uint8_t kLeft = 1;
    static constexpr std::uint8_t kRight = 2;
    static constexpr std::uint8_t kEither = kLeft | kRight;

    [[nodiscard]] std::uint8_t sides(std::size_t kind) const { return sides_.at(kind); }
    void add(std::size_t kind, std::uint8_t sides) { sides_.at(kind) |= sides; }
    void add(const Modifiers& others);
    [[nodiscard]] unsigned asked_for() const;

    // A key went down or up; nothing happens if it isn't a modifier.
    void turn(KeyCode code, bool down);

    [[nodiscard]] bool met_by(const Modifiers& down) const;

    bool operator==(const Modifiers&) const = default;

private:
    std::array<std::uint8_t, kKinds> sides_{};
};

struct KeyBinding {
    KeyCode code = 0;
    Modifiers modifiers;
    bool operator==(const KeyBinding&) const = default;
};

struct KeyBindings {
    KeyBinding performance;
    KeyBinding power;
    bool operator==(const KeyBindings&) const = default;
};

// The error says what is wrong, and what may have been meant. A key that types (letters, digits, Enter, the modifiers
// themselves) needs CTRL, META or LEFTALT: Shift and AltGr type too.
Result<KeyBinding> parse_key_binding(std::string_view text);

// Both, if they differ. The error names the option, keys.performance or keys.power.
Result<KeyBindings> parse_key_bindings(std::string_view performance, std::string_view power);

// The one way to write it that parse_key_binding() reads back.
std::string to_string(const KeyBinding& binding);

// Which key it is that went down while these modifiers were; where both bindings fit, the one with more modifiers.
std::optional<Key> pressed_key(const KeyBindings& bindings, KeyCode code, const Modifiers& down);

// All codes that must be seen: the two keys and their modifiers, ascending.
std::vector<KeyCode> watched_codes(const KeyBindings& bindings);

// All keys that may be bound without a modifier, ascending.
std::vector<KeyCode> keys_that_do_not_type();

// As libevdev names it, "KEY_PROG1"; empty if it isn't a key of a keyboard.
std::string_view key_name(KeyCode code);

}  // namespace happe
