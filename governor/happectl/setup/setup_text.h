// SPDX-License-Identifier: GPL-2.0-or-later
// Reads and changes the texts of happectl setup. Pure: no input or output.
#pragma once

#include "governor/documents/configuration.h"
#include "governor/happectl/outcome.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace happe::ctl {

// The two keys, by their names in a configuration.
struct KeyPair {
    std::string performance;
    std::string power;
    bool operator==(const KeyPair&) const = default;
};

// Proposals for the two keys, the likeliest first: keys that type nothing, then a combination that every keyboard has.
extern const std::array<KeyPair, 6> kLikelyKeys;

// True if one keyboard has both keys, by the text of /proc/bus/input/devices. Does not check the modifiers of a
// combination.
bool has_keys(std::string_view devices, const KeyPair& keys);

// The options of the configuration that setup decides.
struct Decided {
    bool observe = false;
    KeyPair keys;
};

// An option of the configuration, by its dotted name, and the value that it must have.
struct Choice {
    std::string_view option;
    std::string value;
};
using Choices = std::vector<Choice>;

Choices choices_of(const KeyPair& keys);
Choices choices_of(const Decided& decided);

// Returns the configuration's text with these options; everything else, comments too, stays unchanged. Writes an option
// in its own line, or in place of its line behind a #, or at the end of its table. An error if it cannot change this
// text. Errors call the file `name`.
Outcome<std::string> with_choices(const std::string& text, const Choices& choices, const std::string& name);

// `list` is text that gsettings prints: ['a', 'b'], or @as [].
bool has_word(std::string_view list, std::string_view word);
std::string with_word(std::string_view list, std::string_view word, bool wanted);

}  // namespace happe::ctl
