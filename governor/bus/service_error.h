// SPDX-License-Identifier: GPL-2.0-or-later
// Why the daemon refuses a request on the bus: an error of docs/dbus.md.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace happe {

struct ServiceError {
    enum class Kind : std::uint8_t { AccessDenied, InvalidArgument, LimitsExceeded, NotActive, NotFound, Busy, Failed };
    Kind kind;
    std::string message;
};
template <typename T>
using Answer = tl::expected<T, ServiceError>;

inline tl::unexpected<ServiceError> refusal(ServiceError::Kind kind, std::string message) {
    return tl::unexpected<ServiceError>(ServiceError{kind, std::move(message)});
}

}  // namespace happe
