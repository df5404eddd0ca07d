// SPDX-License-Identifier: GPL-2.0-or-later
// The wizard's folder, 0700, and the program that uses it.
#pragma once

#include <QLockFile>
#include <QString>
#include <memory>
#include <tl/expected.hpp>

namespace happe::study {

// Creates the folder if it is missing. An error names it.
[[nodiscard]] tl::expected<void, QString> make_state_folder(const QString& folder);

// Locks the folder for this program; null: another program has it.
[[nodiscard]] std::unique_ptr<QLockFile> lock_state(const QString& folder);
// The process that has the folder; 0: none.
[[nodiscard]] qint64 owner_of_state(const QString& folder);

[[nodiscard]] QString journal_in(const QString& folder);

}  // namespace happe::study
