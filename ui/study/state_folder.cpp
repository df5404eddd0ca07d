// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/state_folder.h"

#include <QDir>
#include <QFile>

namespace happe::study {

tl::expected<void, QString> make_state_folder(const QString& folder) {
    const auto mine = QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner;
    if (!QDir().mkpath(folder) || !QFile::setPermissions(folder, mine)) {
        return tl::unexpected(folder + QStringLiteral(": cannot be created, or belongs to another user"));
    }
    return {};
}

std::unique_ptr<QLockFile> take_lock(const QString& folder, const QString& lock) {
    auto file = std::make_unique<QLockFile>(folder + '/' + lock);
    file->setStaleLockTime(0);  // a sitting may take long; a lock counts only while its process lives
    return file->tryLock() ? std::move(file) : nullptr;
}

qint64 holder_of(const QString& folder, const QString& lock) {
    if (take_lock(folder, lock)) {  // a killed program's lock may name a new, unrelated process
        return 0;
    }
    const QLockFile file(folder + '/' + lock);
    qint64 pid = 0;
    QString host;
    QString program;
    return file.getLockInfo(&pid, &host, &program) ? pid : 0;
}

QString journal_in(const QString& folder) {
    return folder + QStringLiteral("/journal.db");
}

}  // namespace happe::study
