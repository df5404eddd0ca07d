// SPDX-License-Identifier: GPL-2.0-or-later
// The commands of happe-study. Each prints its errors and returns an exit status of sysexits.h.
#pragma once

#include "ui/study/options.h"
#include "ui/study/server/enrolment.h"
#include "ui/study/sitting/journal.h"

#include <QLockFile>
#include <QString>
#include <csignal>
#include <initializer_list>
#include <memory>
#include <string>
#include <tl/expected.hpp>

class QCoreApplication;

namespace happe::study {

// The wizard leaves, or calls the experimenter (SIGUSR1, by which `happe-study abort` calls).
inline constexpr std::initializer_list<int> kAsked = {SIGTERM, SIGINT, SIGUSR1};

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
int run_wizard(const Options& options);

}  // namespace happe::study
