// SPDX-License-Identifier: GPL-2.0-or-later
// The commands of a study at home: builds and connects the parts of AtHome.
#include "ui/study/at_home.h"

#include "ui/program/unix_signals.h"
#include "ui/study/commands.h"
#include "ui/study/laptop/browser.h"
#include "ui/study/server/enrolment.h"
#include "ui/study/server/requests.h"
#include "ui/study/state_folder.h"
#include "ui/study/window/home_window.h"

#include <sysexits.h>
#include <QApplication>
#include <QTimer>
#include <chrono>
#include <csignal>
#include <iostream>

namespace happe::study {
namespace {

constexpr const char* kNobody = "nobody has joined a study at home here; run `happe-study join`";
constexpr const char* kBusy = "another happe-study is running";
constexpr const char* kOther = "this study does not take place at home; run `happe-study`";

// Seconds after midnight.
std::int64_t seconds_of(const std::string& time) {
    constexpr std::int64_t kMinutes = 60;
    const auto colon = time.find(':');
    return (std::stoll(time.substr(0, colon)) * kMinutes + std::stoll(time.substr(colon + 1))) * kMinutes;
}

int say(const std::string& line) {
    std::cout << line << "\n" << std::flush;
    return std::cout ? EX_OK : complain("standard output: cannot write", EX_IOERR);
}

// The participant sits down at the server. Consent comes in the browser, now or later.
int joined(const Options& options, const Enrolment& enrolment, Journal& journal, Server& server,
           const std::string& token, const Answer& answer) {
    const QString state = QString::fromStdString(options.state);
    const bool consents = answer.problem == QStringLiteral("not-enrolled");
    if (answer.verdict != Verdict::Done && !consents) {
        return complain("the server: " + answer.detail.toStdString(),
                        answer.verdict == Verdict::Later ? EX_UNAVAILABLE : EX_NOPERM);
    }
    if (const auto sitting = read_sitting(answer.body.toStdString()); sitting && !sitting->runs.empty()) {
        if (!sitting->at_home()) {
            server.ask(leaving(), [](const Answer&) { QCoreApplication::exit(complain(kOther, EX_DATAERR)); });
            return -1;
        }
    }
    journal.sit(token);
    if (answer.verdict == Verdict::Done) {
        journal.told(answer.body.toStdString());
    }
    const QString browser = QString::fromStdString(options.browser);
    if (const QString trouble = open_in_browser(page_of(enrolment.server, token), browser, state); !trouble.isEmpty()) {
        complain(trouble.toStdString() + "; open your link in a browser yourself", EX_OK);
    }
    return say(
        "Read the study's pages in the browser to their end. Then start the program that accompanies your days,\n"
        "now and at each login:\n\n"
        "    systemctl --user enable --now happe-study-at-home\n\n"
        "To pause: systemctl --user stop happe-study-at-home. To leave the study: happe-study leave.");
}

std::string link_of(const Options& options) {
    std::string link = options.link;
    if (link.empty()) {
        std::cerr << "Your link: " << std::flush;
        std::getline(std::cin, link);
    }
    return token_of(QString::fromStdString(link));
}

bool is_at_home(Journal& journal) {
    const auto seat = journal.seat();
    const auto sitting = seat ? read_sitting(seat->told) : tl::unexpected(std::string());
    return seat && (!sitting || sitting->runs.empty() || sitting->at_home());
}

int ready_for_home(const Options& options) {
    const QString state = QString::fromStdString(options.state);
    if (const auto enrolment = read_enrolment(state); !enrolment) {
        return complain_of(enrolment.error(), state);
    }
    Journal journal(journal_in(state).toStdString());
    const bool nobody = !journal.seat();
    if (nobody && journal.waiting() == 0) {
        return complain(kNobody, EX_NOINPUT);
    }
    return nobody || is_at_home(journal) ? EX_OK : complain(kOther, EX_DATAERR);
}

}  // namespace

int join(const Options& options, QCoreApplication& /*application*/) {
    const auto laptop = open_laptop(options, kBusy);
    if (!laptop) {
        return laptop.error();
    }
    Journal& journal = *laptop->journal;
    const std::string token = link_of(options);
    if (token.empty()) {
        return complain("no link", EX_USAGE);
    }
    if (const auto seat = journal.seat(); seat && seat->token != token) {
        return complain("somebody else takes part here; they leave with `happe-study leave`", EX_TEMPFAIL);
    }
    Server server(laptop->enrolment.server, laptop->enrolment.token);
    server.ask(sitting_of(token), [&](const Answer& answer) {
        if (const int status = joined(options, laptop->enrolment, journal, server, token, answer); status >= 0) {
            QCoreApplication::exit(status);
        }
    });
    return QCoreApplication::exec();
}

int leave(const Options& options, QCoreApplication& application) {
    if (const int status = ready_for_home(options); status != EX_OK) {
        return status;
    }
    const QString state = QString::fromStdString(options.state);
    const auto lock = take_lock(state);
    if (!lock) {
        const qint64 program = holder_of(state, kAtHomeLock);
        if (program <= 0 || ::kill(static_cast<pid_t>(program), SIGUSR2) != 0) {
            return complain(kBusy, EX_TEMPFAIL);
        }
        return say("The program that accompanies your days ends this one, forgets your link, and sends what is here.");
    }
    const auto enrolment = read_enrolment(state);
    Journal journal(journal_in(state).toStdString());
    Server server(enrolment->server, enrolment->token);
    DaemonProxy governor(QDBusConnection::systemBus(), DaemonProxy::Asks::Nobody);
    AtHome home({.day_begins_s = 0, .state = state, .piece = {}}, journal, server, governor);
    QObject::connect(&home, &AtHome::ended, &application, [](int status) { QCoreApplication::exit(status); });
    QTimer::singleShot(std::chrono::seconds(options.patience_s), &application, [] {
        QCoreApplication::exit(
            complain("the server does not answer; `happe-study upload` sends what is here later", EX_UNAVAILABLE));
    });
    QTimer::singleShot(0, &home, [&home] { home.leave(); });
    return QCoreApplication::exec();
}

int run_at_home(const Options& options) {
    if (const int status = ready_for_home(options); status != EX_OK) {
        return status;
    }
    const auto laptop = open_laptop(options, kBusy);
    if (!laptop) {
        return laptop.error();
    }
    const auto found_by_leave = take_lock(QString::fromStdString(options.state), kAtHomeLock);
    Server server(laptop->enrolment.server, laptop->enrolment.token);
    DaemonProxy governor(QDBusConnection::systemBus(), DaemonProxy::Asks::Nobody);
    AtHome home({.day_begins_s = seconds_of(options.day_begins),
                 .state = QString::fromStdString(options.state),
                 .piece = std::chrono::seconds(options.piece_s)},
                *laptop->journal, server, governor);
    HomeWindow window({.rate = [&](int rating) { home.rate(rating); },
                       .guess = [&](const std::string& choice) { home.guess(choice); },
                       .stand_up = [&] { home.leave(); },
                       .leave = [] { QCoreApplication::exit(EX_OK); }});
    QObject::connect(&home, &AtHome::shows, &window, &HomeWindow::show_view);
    QObject::connect(&home, &AtHome::ended, &home, [](int status) { QCoreApplication::exit(status); });
    const ui::UnixSignals asked(kAskedAtHome);
    QObject::connect(&asked, &ui::UnixSignals::came, &home,
                     [&home](int number) { number == SIGUSR2 ? home.leave() : home.stop(); });
    QTimer::singleShot(0, &home, [&home] { home.go_on(); });
    return QApplication::exec();
}

}  // namespace happe::study
