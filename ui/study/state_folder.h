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

// The locks in the folder. All programs that change it take the first; some also the one by which others find them.
inline const QString kStateLock = QStringLiteral("lock");
inline const QString kWizardLock = QStringLiteral("wizard.lock");

// Takes a lock for this program; null: another program has it.
[[nodiscard]] std::unique_ptr<QLockFile> take_lock(const QString& folder, const QString& lock = kStateLock);
// The process that has a lock; 0: none.
[[nodiscard]] qint64 holder_of(const QString& folder, const QString& lock);

[[nodiscard]] QString journal_in(const QString& folder);

}  // namespace happe::study
