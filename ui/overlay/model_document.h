// SPDX-License-Identifier: GPL-2.0-or-later
// Reads a machine's power model: profiles/schema/power-model.schema.json.
#pragma once

#include "ui/overlay/power_model.h"

#include <QByteArray>
#include <QString>
#include <tl/expected.hpp>

namespace happe::ui {

// An error names the field. Beyond the schema, refuses rows of the wrong length and lists that do not ascend.
[[nodiscard]] tl::expected<PowerModel, ModelError> parse_model(const QByteArray& document);

// Reads a file of at most 1 MiB. An error also names the file.
[[nodiscard]] tl::expected<PowerModel, ModelError> read_model(const QString& path);

}  // namespace happe::ui
