// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the JSON of compositors.
#pragma once

#include <sys/types.h>
#include <QJsonObject>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace happe::ui {

// An error names the fault and its place.
[[nodiscard]] tl::expected<QJsonObject, std::string> object_in(std::string_view json);

// The member "pid"; 0 if it is not a process number.
[[nodiscard]] pid_t pid_in(const QJsonObject& object);

}  // namespace happe::ui
