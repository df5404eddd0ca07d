// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/commands.h"

#include "ui/program.h"
#include "ui/study/laptop/daemon_proxy.h"
#include "ui/study/server/enrolment.h"
#include "ui/study/server/uploader.h"

#include <sysexits.h>
#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTimer>
#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>

namespace happe::study {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMsPerSecond = 1000;
constexpr int kForbidden = 403;

const char* name_of(Step step) {
    switch (step) {
        case Step::Starting:
            return "starting";
        case Step::Running:
            return "running";
        case Step::Ended:
            return "ended";
        case Step::Rated:
            return "rated";
        case Step::Answered:
            return "answered";
        case Step::Aborted:
            return "aborted";
    }
    return "";
}

int flushed() {
    return std::cout.flush() ? EX_OK : complain("standard output: cannot write", EX_IOERR);
}

// The status contains neither the token nor a rating.
Json status_of(const Enrolment& enrolment, Journal& journal) {
    Json status = {{"server", enrolment.server.toString().toStdString()},
                   {"study", enrolment.study.toStdString()},
                   {"device", enrolment.device.toStdString()},
                   {"participant", nullptr},
                   {"runs", Json::array()},
                   {"waiting", journal.waiting()},
                   {"refused", Json::array()}};
    const auto seat = journal.seat();
    if (const auto sitting = seat ? read_sitting(seat->told) : tl::unexpected(std::string())) {
        status["participant"] = sitting->participant;
    }
    for (const KnownRun& run : journal.runs()) {
        status["runs"].push_back({{"run", run.code}, {"step", name_of(run.step)}, {"notes", run.notes}});
    }
    for (const Refusal& refusal : journal.refusals()) {
        status["refused"].push_back({{"about", refusal.about}, {"path", refusal.path}, {"why", refusal.why}});
    }
    return status;
}

void print(const Json& status) {
    const auto text = [&](const char* name) { return status[name].get<std::string>(); };
    std::cout << "study        " << text("study") << " at " << text("server") << "\n"
              << "this laptop  " << text("device") << "\n"
              << "participant  " << (status["participant"].is_null() ? "nobody" : text("participant")) << "\n"
              << "waiting      " << status["waiting"] << " to be sent\n";
    for (const Json& run : status["runs"]) {
        std::cout << "run          " << run["run"].get<std::string>() << " " << run["step"].get<std::string>() << "\n";
        for (const Json& note : run["notes"]) {
            std::cout << "             " << note.get<std::string>() << "\n";
        }
    }
    for (const Json& refusal : status["refused"]) {
        std::cout << "refused      " << refusal["path"].get<std::string>() << ": " << refusal["why"].get<std::string>()
                  << "\n";
    }
}

std::string code_of(const Options& options) {
    std::string code = options.code;
    if (code.empty()) {
        std::cerr << "Enrolment code: " << std::flush;
        std::getline(std::cin, code);
    }
    return code;
}

int enrolled(const QString& state, const QUrl& server, const Answer& answer) {
    if (answer.verdict != Verdict::Done) {
        const int status = answer.status == kForbidden ? EX_NOPERM : EX_UNAVAILABLE;
        return complain(server.toString().toStdString() + ": " + answer.detail.toStdString(), status);
    }
    const auto enrolment = enrolment_of(server, answer.body);
    if (!enrolment) {
        return complain("the server's answer: " + enrolment.error().toStdString(), EX_DATAERR);
    }
    if (const auto kept = write_enrolment(state, *enrolment); !kept) {
        return complain(kept.error().toStdString() + "; enrol the laptop again with a new code", EX_CANTCREAT);
    }
    std::cout << "This laptop is " << enrolment->device.toStdString() << " of the study "
              << enrolment->study.toStdString() << ".\n";
    return flushed();
}

// True if data waits here. It belongs to the study in which the laptop is enrolled now.
bool holds_letters(const QString& state) {
    Journal journal(journal_in(state).toStdString());
    return journal.waiting() > 0 || journal.seat().has_value();
}

}  // namespace

int complain(const std::string& message, int status) {
    std::cerr << "happe-study: " << message << "\n";
    return status;
}

int complain_of(const QString& enrolment, const QString& state) {
    const int status = is_enrolled(state) ? EX_DATAERR : EX_NOINPUT;
    return complain(enrolment.toStdString() + "; run `happe-study enrol`", status);
}

int enrol(const Options& options, QCoreApplication& /*application*/) {
    const QString state = QString::fromStdString(options.state);
    const QUrl url = server_address(QString::fromStdString(options.server));
    if (url.isEmpty()) {
        return complain(options.server + ": not the address of a study server: use https, or http on this machine",
                        EX_USAGE);
    }
    if (const auto made = make_state_folder(state); !made) {
        return complain(made.error().toStdString(), EX_CANTCREAT);
    }
    const auto lock = take_lock(state);
    if (!lock) {
        return complain("the wizard is running", EX_TEMPFAIL);
    }
    if (holds_letters(state)) {
        return complain("a sitting has not ended, or the server lacks some of its data: see `happe-study status`",
                        EX_TEMPFAIL);
    }
    const std::string code = code_of(options);
    ui::UnixSignals::block({SIGINT, SIGTERM});  // the code works once, so the answer must be stored
    DaemonProxy governor(QDBusConnection::systemBus());
    Server server(url, {});
    governor.device_key([&](const Result<QByteArray>& key) {
        if (!key) {
            QCoreApplication::exit(complain("happed: " + key.error().toStdString(), EX_UNAVAILABLE));
            return;
        }
        const QJsonObject body{{QStringLiteral("code"), QString::fromStdString(code).trimmed()},
                               {QStringLiteral("public_key"), QString::fromLatin1(key->toBase64())}};
        server.ask({.method = "POST", .path = QStringLiteral("devices/enrol"), .body = QJsonDocument(body).toJson()},
                   [&](const Answer& answer) { QCoreApplication::exit(enrolled(state, url, answer)); });
    });
    return QCoreApplication::exec();
}

int show_status(const Options& options) {
    const QString state = QString::fromStdString(options.state);
    const auto enrolment = read_enrolment(state);
    if (!enrolment) {
        return complain_of(enrolment.error(), state);
    }
    Journal journal(journal_in(state).toStdString());
    const Json status = status_of(*enrolment, journal);
    if (options.json) {
        std::cout << status.dump(2) << "\n";
    } else {
        print(status);
    }
    return flushed();
}

tl::expected<Laptop, int> open_laptop(const Options& options, const std::string& busy) {
    const QString state = QString::fromStdString(options.state);
    auto enrolment = read_enrolment(state);
    if (!enrolment) {
        return tl::unexpected(complain_of(enrolment.error(), state));
    }
    auto lock = take_lock(state);
    if (!lock) {
        return tl::unexpected(complain(busy, EX_TEMPFAIL));
    }
    return Laptop{.enrolment = *std::move(enrolment),
                  .lock = std::move(lock),
                  .journal = std::make_unique<Journal>(journal_in(state).toStdString())};
}

int upload(const Options& options, QCoreApplication& application) {
    const auto laptop = open_laptop(options, "the wizard is running and uploads the data itself");
    if (!laptop) {
        return laptop.error();
    }
    Journal& journal = *laptop->journal;
    if (options.again) {
        journal.send_refused_again();
    }
    Server server(laptop->enrolment.server, laptop->enrolment.token);
    Uploader uploader(journal, server);
    QTimer::singleShot(options.patience_s * kMsPerSecond, &application, [&] {
        QCoreApplication::exit(complain("not sent: " + uploader.obstacle().toStdString(), EX_UNAVAILABLE));
    });
    QTimer::singleShot(0, &application, [&] { uploader.when_done([] { QCoreApplication::exit(EX_OK); }); });
    const int status = QCoreApplication::exec();
    const auto refusals = journal.refusals();
    for (const Refusal& refusal : refusals) {
        complain(refusal.path + ": " + refusal.why, EX_OK);
    }
    return status == EX_OK && !refusals.empty() ? 1 : status;
}

int call_experimenter(const Options& options) {
    const qint64 wizard = holder_of(QString::fromStdString(options.state), kWizardLock);
    if (wizard <= 0 || ::kill(static_cast<pid_t>(wizard), SIGUSR1) != 0) {
        return complain("no wizard is running", EX_UNAVAILABLE);
    }
    return EX_OK;
}

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
