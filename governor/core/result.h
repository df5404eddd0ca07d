// SPDX-License-Identifier: GPL-2.0-or-later
// The result of input and output: a value, or an error message for the person who must act on it.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace happe {

struct Error {
    std::string message;  // names the file, line, field or device
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

// Cold: the compiler keeps the code that leads to an error apart from the code of every period.
[[gnu::cold]] inline tl::unexpected<Error> failure(std::string message) {
    return tl::unexpected<Error>(Error{std::move(message)});
}

}  // namespace happe
