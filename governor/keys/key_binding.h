// SPDX-License-Identifier: GPL-2.0-or-later
// A key with modifiers that acts as one of HAPPE's two keys: "KEY_PROG1", "LEFTCTRL+KEY_F12", "CTRL+META+KEY_UP".
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

using KeyCode = std::uint16_t;  // a code of EV_KEY in linux/input-event-codes.h

// The sides of the keyboard for each of CTRL, ALT, SHIFT and META. In a binding: the sides that a person may hold; none
// if it does not need the modifier. For a keyboard: the sides that are down.
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

    // Records that a key went down or up. Ignores keys that are not modifiers.
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

// The error describes the mistake and may suggest a name. A key that types (letters, digits, Enter, the modifiers
// themselves) needs CTRL, META or LEFTALT: Shift and AltGr type too.
Result<KeyBinding> parse_key_binding(std::string_view text);

// Parses both keys, which must differ. The error names the option, keys.performance or keys.power.
Result<KeyBindings> parse_key_bindings(std::string_view performance, std::string_view power);

// The binding as text. parse_key_binding() reads it back.
std::string to_string(const KeyBinding& binding);

// The key whose binding fits this code with these modifiers down. If both fit, the one with more modifiers; empty if
// neither does.
std::optional<Key> pressed_key(const KeyBindings& bindings, KeyCode code, const Modifiers& down);

// All codes that happed must see, ascending: the two keys and their modifiers.
std::vector<KeyCode> watched_codes(const KeyBindings& bindings);

// All keys that happed may bind without a modifier, ascending.
std::vector<KeyCode> keys_that_do_not_type();

// libevdev's name, such as "KEY_PROG1"; empty if this is not a key of a keyboard.
std::string_view key_name(KeyCode code);

}  // namespace happe
