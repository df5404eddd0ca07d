// SPDX-License-Identifier: GPL-2.0-or-later
// The commands of happe-study. Each prints its errors and returns an exit status of sysexits.h.
#pragma once

#include "ui/study/server/enrolment.h"
#include "ui/study/sitting/journal.h"

#include <QLockFile>
#include <QString>
#include <cstdint>
#include <memory>
#include <string>
#include <tl/expected.hpp>

class QCoreApplication;

namespace happe::study {

// The options of happe-study.
enum class Command : std::uint8_t { Wizard, Enrol, Status, Upload, Abort };

struct Options {
    Command command = Command::Wizard;
    std::string state;
    std::string browser;
    std::string language;
    int countdown_s = 3;
    int settle_ms = 700;
    std::string server;
    std::string code;  // the enrolment's code; empty: ask for it
    bool json = false;
    int patience_s = 60;
    bool again = false;  // also send uploads that the server has refused
};

int complain(const std::string& message, int status);

// The enrolled laptop's state, which no other program has.
struct Laptop {
    Enrolment enrolment;
    std::unique_ptr<QLockFile> lock;
    std::unique_ptr<Journal> journal;
};
// Prints an error, `busy` if another program has the state, and returns its exit status.
tl::expected<Laptop, int> open_laptop(const Options& options, const std::string& busy);
// Reports the error in this folder's enrolment.
int complain_of(const QString& enrolment, const QString& state);

int enrol(const Options& options, QCoreApplication& application);
int show_status(const Options& options);
int upload(const Options& options, QCoreApplication& application);
int call_experimenter(const Options& options);

// The wizard's folder, 0700, and the program that uses it.

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
