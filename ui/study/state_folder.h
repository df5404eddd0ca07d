// SPDX-License-Identifier: GPL-2.0-or-later
// The wizard's folder, 0700, and who works in it.
#pragma once

#include <QLockFile>
#include <QString>
#include <memory>
#include <tl/expected.hpp>

namespace happe::study {

// Made if it is missing. An error names it.
[[nodiscard]] tl::expected<void, QString> make_state_folder(const QString& folder);

// One program at a time; null: another one has it.
[[nodiscard]] std::unique_ptr<QLockFile> lock_state(const QString& folder);
// Who has it; 0: nobody.
[[nodiscard]] qint64 owner_of_state(const QString& folder);

[[nodiscard]] QString journal_in(const QString& folder);

}  // namespace happe::study
