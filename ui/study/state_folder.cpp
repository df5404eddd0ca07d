// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/state_folder.h"

#include <QDir>
#include <QFile>

namespace happe::study {
namespace {

QString lock_in(const QString& folder) {
    return folder + QStringLiteral("/lock");
}

}  // namespace

tl::expected<void, QString> make_state_folder(const QString& folder) {
    const auto mine = QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner;
    if (!QDir().mkpath(folder) || !QFile::setPermissions(folder, mine)) {
        return tl::unexpected(folder + QStringLiteral(": cannot be created, or belongs to another user"));
    }
    return {};
}

std::unique_ptr<QLockFile> lock_state(const QString& folder) {
    auto lock = std::make_unique<QLockFile>(lock_in(folder));
    lock->setStaleLockTime(0);  // a sitting may take long; a lock counts only while its process lives
    return lock->tryLock() ? std::move(lock) : nullptr;
}

qint64 owner_of_state(const QString& folder) {
    if (lock_state(folder)) {  // a killed program's lock may name a new, unrelated process
        return 0;
    }
    const QLockFile lock(lock_in(folder));
    qint64 pid = 0;
    QString host;
    QString program;
    return lock.getLockInfo(&pid, &host, &program) ? pid : 0;
}

QString journal_in(const QString& folder) {
    return folder + QStringLiteral("/journal.db");
}

}  // namespace happe::study
