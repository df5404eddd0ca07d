// SPDX-License-Identifier: GPL-2.0-or-later
// What happectl setup reads and writes. Pure: texts in, texts out.
#pragma once

#include "governor/documents/configuration.h"
#include "governor/happectl/outcome.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace happe::ctl {

// The two keys, by the names that a configuration has.
struct KeyPair {
    std::string performance;
    std::string power;
    bool operator==(const KeyPair&) const = default;
};

// Keys that can teach, the likeliest first: those that type nothing, then a combination that every keyboard has.
extern const std::array<KeyPair, 6> kLikelyKeys;

// Whether this machine has a keyboard with both, by the text of /proc/bus/input/devices. Which of a combination's
// modifiers there are is not looked at.
bool has_keys(std::string_view devices, const KeyPair& keys);

// What setup decides: three options of the configuration.
struct Decided {
    bool observe = false;
    KeyPair keys;
};

// The configuration's text with these options, everything else as it is, comments too. An option is written where it
// is, or where it is shown behind a #, else at the end of its table. An error if the text is written in a way that this
// cannot change. `name` is how errors call the file.
Outcome<std::string> with_decided(const std::string& text, const Decided& decided, const std::string& name);
Outcome<std::string> with_keys(const std::string& text, const KeyPair& keys, const std::string& name);

}  // namespace happe::ctl
