// SPDX-License-Identifier: GPL-2.0-or-later
// The result of a part of happectl: a value, or a message for the person and an exit status (sysexits.h).
#pragma once

#include <sysexits.h>
#include <string>
#include <tl/expected.hpp>

namespace happe::ctl {

struct Trouble {
    int status = EX_SOFTWARE;
    std::string message;  // the mistake, and what to do next
};

template <typename T>
using Outcome = tl::expected<T, Trouble>;

inline tl::unexpected<Trouble> trouble(int status, std::string message) {
    return tl::unexpected<Trouble>(Trouble{status, std::move(message)});
}

template <typename T>
tl::unexpected<Trouble> pass_on(const Outcome<T>& outcome) {
    return tl::unexpected<Trouble>(outcome.error());
}

}  // namespace happe::ctl
