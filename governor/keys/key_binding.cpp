// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/keys/key_binding.h"

#include "governor/cli/near_name.h"
#include "governor/documents/printable.h"

#include <fmt/format.h>
#include <libevdev/libevdev.h>
#include <linux/input-event-codes.h>
#include <algorithm>
#include <cctype>
#include <iterator>

namespace happe {
namespace {

constexpr std::size_t kLongestBinding = 64;  // bytes
constexpr KeyCode kNoKey = KEY_RESERVED;

enum ModifierKind : std::size_t { Ctrl, Alt, Shift, Meta };

struct ModifierKey {
    KeyCode code;
    ModifierKind kind;
    std::uint8_t side;
};
constexpr std::array kModifierKeys{
    ModifierKey{KEY_LEFTCTRL, Ctrl, Modifiers::kLeft},   ModifierKey{KEY_RIGHTCTRL, Ctrl, Modifiers::kRight},
    ModifierKey{KEY_LEFTALT, Alt, Modifiers::kLeft},     ModifierKey{KEY_RIGHTALT, Alt, Modifiers::kRight},
    ModifierKey{KEY_LEFTSHIFT, Shift, Modifiers::kLeft}, ModifierKey{KEY_RIGHTSHIFT, Shift, Modifiers::kRight},
    ModifierKey{KEY_LEFTMETA, Meta, Modifiers::kLeft},   ModifierKey{KEY_RIGHTMETA, Meta, Modifiers::kRight}};

// Ranges of keys for typing. People press them too often to mean "faster", and HAPPE must not read their text.
struct CodeRange {
    KeyCode first;
    KeyCode last;
};
constexpr std::array kTyping{
    CodeRange{KEY_1, KEY_ENTER},
    CodeRange{KEY_A, KEY_GRAVE},
    CodeRange{KEY_BACKSLASH, KEY_SLASH},
    CodeRange{KEY_KPASTERISK, KEY_KPASTERISK},
    CodeRange{KEY_SPACE, KEY_CAPSLOCK},
    CodeRange{KEY_NUMLOCK, KEY_NUMLOCK},
    CodeRange{KEY_KP7, KEY_KPDOT},
    CodeRange{KEY_ZENKAKUHANKAKU, KEY_102ND},
    CodeRange{KEY_RO, KEY_KPENTER},
    CodeRange{KEY_KPSLASH, KEY_KPSLASH},
    CodeRange{KEY_LINEFEED, KEY_LINEFEED},
    CodeRange{KEY_KPEQUAL, KEY_KPPLUSMINUS},
    CodeRange{KEY_KPCOMMA, KEY_YEN},
    CodeRange{KEY_COMPOSE, KEY_COMPOSE},
    CodeRange{KEY_KPLEFTPAREN, KEY_KPRIGHTPAREN},
    CodeRange{KEY_QUESTION, KEY_QUESTION},
    CodeRange{KEY_DOLLAR, KEY_EURO},
    CodeRange{KEY_FN, KEY_FN},  // held for another key
    CodeRange{KEY_BRL_DOT1, KEY_BRL_DOT10},
    CodeRange{KEY_NUMERIC_0, KEY_NUMERIC_D},
    CodeRange{KEY_NUMERIC_11, KEY_NUMERIC_12},
};

const ModifierKey* modifier_key(KeyCode code) {
    const auto* const found = std::ranges::find(kModifierKeys, code, &ModifierKey::code);
    return found == kModifierKeys.end() ? nullptr : found;
}

bool types(KeyCode code) {
    return modifier_key(code) != nullptr ||
           std::ranges::any_of(kTyping, [code](CodeRange range) { return range.first <= code && code <= range.last; });
}

struct AskedModifier {
    std::string_view name;
    ModifierKind kind;
    std::uint8_t sides;
};
constexpr std::array kAskedModifiers{
    AskedModifier{"CTRL", Ctrl, Modifiers::kEither},       AskedModifier{"LEFTCTRL", Ctrl, Modifiers::kLeft},
    AskedModifier{"RIGHTCTRL", Ctrl, Modifiers::kRight},   AskedModifier{"ALT", Alt, Modifiers::kEither},
    AskedModifier{"LEFTALT", Alt, Modifiers::kLeft},       AskedModifier{"RIGHTALT", Alt, Modifiers::kRight},
    AskedModifier{"SHIFT", Shift, Modifiers::kEither},     AskedModifier{"LEFTSHIFT", Shift, Modifiers::kLeft},
    AskedModifier{"RIGHTSHIFT", Shift, Modifiers::kRight}, AskedModifier{"META", Meta, Modifiers::kEither},
    AskedModifier{"LEFTMETA", Meta, Modifiers::kLeft},     AskedModifier{"RIGHTMETA", Meta, Modifiers::kRight}};

std::string_view modifier_name(std::size_t kind, std::uint8_t sides) {
    return std::ranges::find_if(kAskedModifiers,
                                [&](const AskedModifier& it) { return it.kind == kind && it.sides == sides; })
        ->name;
}

std::vector<std::string_view> modifier_names() {
    std::vector<std::string_view> names;
    std::ranges::transform(kAskedModifiers, std::back_inserter(names), &AskedModifier::name);
    return names;
}

std::vector<std::string_view> key_names() {
    std::vector<std::string_view> names;
    for (KeyCode code = 1; code < KEY_MAX; ++code) {
        if (!key_name(code).empty()) {
            names.push_back(key_name(code));
        }
    }
    return names;
}

// "; perhaps KEY_PROG1"; nothing if no name is near.
std::string perhaps(std::string_view typed, std::string_view prefix, std::span<const std::string_view> names) {
    if (typed.empty()) {
        return "";
    }
    std::string wanted(typed);
    std::ranges::transform(wanted, wanted.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    if (!wanted.starts_with(prefix)) {
        wanted.insert(0, prefix);
    }
    const std::string_view near = nearest_name(wanted, names);
    return near.empty() ? "" : fmt::format("; perhaps {}", near);
}

// Removes the part before the first '+' from the text, and returns it.
std::optional<std::string_view> take_modifier(std::string_view& text) {
    const std::size_t plus = text.find('+');
    if (plus == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view name = text.substr(0, plus);
    text.remove_prefix(plus + 1);
    return name;
}

Status add_modifier(KeyBinding& binding, std::string_view name) {
    const auto* const asked = std::ranges::find(kAskedModifiers, name, &AskedModifier::name);
    if (asked == kAskedModifiers.end()) {
        return failure(fmt::format("\"{}\" is not a modifier{}", printable(name, kLongestBinding),
                                   perhaps(name, "", modifier_names())));
    }
    if (binding.modifiers.sides(asked->kind) != 0) {
        return failure(fmt::format("{} appears twice", modifier_name(asked->kind, Modifiers::kEither)));
    }
    binding.modifiers.add(asked->kind, asked->sides);
    return {};
}

Result<KeyCode> parse_key(std::string_view name) {
    // For libevdev a name ends at a NUL.
    const bool possible = printable(name, kLongestBinding) == name;
    const int code = possible ? libevdev_event_code_from_name_n(EV_KEY, name.data(), name.size()) : -1;
    if (code <= kNoKey || code >= KEY_MAX || key_name(static_cast<KeyCode>(code)).empty()) {
        return failure(
            fmt::format("\"{}\" is not a key{}", printable(name, kLongestBinding), perhaps(name, "KEY_", key_names())));
    }
    if (modifier_key(static_cast<KeyCode>(code)) != nullptr) {
        return failure(fmt::format("{} is a modifier and needs a key after it", name));
    }
    return static_cast<KeyCode>(code);
}

// CTRL, META and the left Alt key make a command of a letter; Shift and AltGr make another letter.
bool makes_commands(const Modifiers& modifiers) {
    return modifiers.sides(Ctrl) != 0 || modifiers.sides(Meta) != 0 || modifiers.sides(Alt) == Modifiers::kLeft;
}

// True if one press can fit both bindings.
bool overlap(const KeyBinding& one, const KeyBinding& other) {
    for (std::size_t kind = 0; kind < Modifiers::kKinds; ++kind) {
        const auto a = one.modifiers.sides(kind);
        const auto b = other.modifiers.sides(kind);
        if ((a == 0) != (b == 0) || (a != 0 && (a & b) == 0)) {
            return false;
        }
    }
    return one.code == other.code;
}

Result<KeyBinding> named(std::string_view option, Result<KeyBinding> parsed) {
    return parsed ? parsed : failure(fmt::format("{}: {}", option, parsed.error().message));
}

}  // namespace

void Modifiers::add(const Modifiers& others) {
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
        sides_.at(kind) |= others.sides_.at(kind);
    }
}

unsigned Modifiers::asked_for() const {
    return static_cast<unsigned>(std::ranges::count_if(sides_, [](auto sides) { return sides != 0; }));
}

void Modifiers::turn(KeyCode code, bool down) {
    if (const ModifierKey* const key = modifier_key(code)) {
        auto& sides = sides_.at(key->kind);
        sides = static_cast<std::uint8_t>(down ? sides | key->side : sides & ~key->side);
    }
}

bool Modifiers::met_by(const Modifiers& down) const {
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
        if (sides_.at(kind) != 0 && (sides_.at(kind) & down.sides_.at(kind)) == 0) {
            return false;
        }
    }
    return true;
}

Result<KeyBinding> parse_key_binding(std::string_view text) {
    if (text.empty() || text.size() > kLongestBinding) {
        return failure(fmt::format("a key has 1 to {} characters, as KEY_PROG1 or CTRL+KEY_F12", kLongestBinding));
    }
    KeyBinding binding;
    while (const auto modifier = take_modifier(text)) {
        if (const Status added = add_modifier(binding, *modifier); !added) {
            return tl::unexpected<Error>(added.error());
        }
    }
    const auto code = parse_key(text);
    if (!code) {
        return tl::unexpected<Error>(code.error());
    }
    binding.code = *code;
    if (types(binding.code) && !makes_commands(binding.modifiers)) {
        return failure(fmt::format("{} types text, so it needs CTRL, META or LEFTALT", text));
    }
    return binding;
}

Result<KeyBindings> parse_key_bindings(std::string_view performance, std::string_view power) {
    const auto faster = named("keys.performance", parse_key_binding(performance));
    if (!faster) {
        return tl::unexpected<Error>(faster.error());
    }
    const auto saving = named("keys.power", parse_key_binding(power));
    if (!saving) {
        return tl::unexpected<Error>(saving.error());
    }
    if (overlap(*faster, *saving)) {
        return failure(fmt::format("keys.power: {} cannot be distinguished from keys.performance, {}",
                                   to_string(*saving), to_string(*faster)));
    }
    return KeyBindings{.performance = *faster, .power = *saving};
}

std::string to_string(const KeyBinding& binding) {
    std::string text;
    for (std::size_t kind = 0; kind < Modifiers::kKinds; ++kind) {
        if (binding.modifiers.sides(kind) != 0) {
            text.append(modifier_name(kind, binding.modifiers.sides(kind))).append("+");
        }
    }
    return text.append(key_name(binding.code));
}

std::optional<Key> pressed_key(const KeyBindings& bindings, KeyCode code, const Modifiers& down) {
    const auto fits = [&](const KeyBinding& binding) { return binding.code == code && binding.modifiers.met_by(down); };
    const bool performance = fits(bindings.performance);
    const bool power = fits(bindings.power);
    const bool power_asks_more = bindings.power.modifiers.asked_for() > bindings.performance.modifiers.asked_for();
    if (power && (!performance || power_asks_more)) {
        return Key::Power;
    }
    return performance ? std::optional(Key::Performance) : std::nullopt;
}

std::vector<KeyCode> watched_codes(const KeyBindings& bindings) {
    std::vector<KeyCode> codes;
    for (const KeyBinding& binding : {bindings.performance, bindings.power}) {
        codes.push_back(binding.code);
        for (const ModifierKey& key : kModifierKeys) {
            if ((binding.modifiers.sides(key.kind) & key.side) != 0) {
                codes.push_back(key.code);
            }
        }
    }
    std::ranges::sort(codes);
    codes.erase(std::ranges::unique(codes).begin(), codes.end());
    return codes;
}

std::vector<KeyCode> keys_that_do_not_type() {
    std::vector<KeyCode> codes;
    for (KeyCode code = 1; code < KEY_MAX; ++code) {
        if (!key_name(code).empty() && !types(code)) {
            codes.push_back(code);
        }
    }
    return codes;
}

std::string_view key_name(KeyCode code) {
    const char* const name = libevdev_event_code_get_name(EV_KEY, code);
    const std::string_view text = name == nullptr ? "" : name;
    return text.starts_with("KEY_") ? text : "";
}

}  // namespace happe
