// SPDX-License-Identifier: GPL-2.0-or-later
// A machine's own power model as a document: profiles/schema/power-model.schema.json.
#pragma once

#include "ui/overlay/power_model.h"

#include <QByteArray>
#include <QString>
#include <tl/expected.hpp>

namespace happe::ui {

// An error names the field. What the schema allows and this refuses: rows that don't fit, lists that don't ascend.
[[nodiscard]] tl::expected<PowerModel, ModelError> parse_model(const QByteArray& document);

// At most 1 MiB. An error names the file, too.
[[nodiscard]] tl::expected<PowerModel, ModelError> read_model(const QString& path);

}  // namespace happe::ui
