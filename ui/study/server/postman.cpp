// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/server/postman.h"

#include "ui/study/words/log.h"
#include "ui/study/words/study_words.h"

#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTimer>
#include <QUuid>
#include <algorithm>
#include <chrono>
#include <utility>

namespace happe::study {
namespace {

constexpr std::size_t kProbes = 16;
constexpr int kRestMs = 1000;
constexpr int kLongestRestMs = 15'000;

std::int64_t now_us() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();  // CLOCK_MONOTONIC
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

std::string boot_id() {
    QFile file(QStringLiteral("/proc/sys/kernel/random/boot_id"));
    return file.open(QIODevice::ReadOnly) ? file.readAll().trimmed().toStdString() : std::string();
}

std::int64_t micros(const QJsonObject& told, const char* name) {
    return told.value(QLatin1String(name)).toInteger();
}

void probe(Server& server, std::vector<Probe> probes, int rest_ms, const std::function<void(const Letter&)>& then) {
    const std::int64_t asked = now_us();
    server.ask({.method = "GET", .path = QStringLiteral("clock"), .body = {}},
               [&server, asked, probes = std::move(probes), rest_ms, then](const Answer& answer) mutable {
                   const std::int64_t heard = now_us();
                   if (answer.verdict != Verdict::Done) {  // earlier probes would be of another network
                       const int longer_ms = std::min(2 * rest_ms, kLongestRestMs);
                       QTimer::singleShot(rest_ms, &server,
                                          [&server, longer_ms, then] { probe(server, {}, longer_ms, then); });
                       return;
                   }
                   const QJsonObject told = QJsonDocument::fromJson(answer.body).object();
                   probes.push_back({asked, micros(told, "receive_us"), micros(told, "send_us"), heard});
                   if (probes.size() < kProbes) {
                       probe(server, std::move(probes), rest_ms, then);
                   } else {
                       then(clock_of(new_id(), boot_id(), probes));
                   }
               });
}

}  // namespace

std::string new_id() {
    return QUuid::createUuid().toString(QUuid::WithoutBraces).toStdString();
}

void compare_clocks(Server& server, const std::function<void(const Letter&)>& then) {
    probe(server, {}, kRestMs, then);
}

void Postman::go() {
    if (!under_way_) {
        carry();
    }
}

void Postman::when_done(std::function<void()> then) {
    waiting_.push_back(std::move(then));
    go();
}

void Postman::carry() try {
    const auto letter = journal_.first_letter();
    if (!letter) {
        obstacle_.clear();
        for (const auto& then : std::exchange(waiting_, {})) {
            then();
        }
        return;
    }
    under_way_ = true;
    const Request request{.method = QByteArray::fromStdString(letter->method),
                          .path = QString::fromStdString(letter->path),
                          .body = QByteArray::fromStdString(letter->body)};
    const auto hindered = [this](const Answer& answer) {
        if (answer.problem.isEmpty() && obstacle_.isEmpty()) {
            log("not sent: " + answer.detail.toStdString());
        }
        obstacle_ = answer.problem.isEmpty() ? no_answer() : answer.detail;
        emit waits();
    };
    const auto always = [] { return true; };
    const auto then = [this, letter = *letter](const Answer& answer) { delivered(letter, answer); };
    server_.insist(request, always, then, hindered);
} catch (const JournalError& error) {
    log(error.what());
    rest(disk_trouble());
}

// If the journal cannot delete a delivered letter, the postman sends it again, which changes nothing.
void Postman::delivered(const Letter& letter, const Answer& answer) try {
    under_way_ = false;
    if (answer.verdict == Verdict::Done) {
        journal_.sent(letter.number);
    } else {
        const std::string why =
            std::to_string(answer.status) + " " + answer.problem.toStdString() + ": " + answer.detail.toStdString();
        journal_.refused(letter.number, why);
        log("the server has refused " + letter.path + ": " + why);
    }
    carry();
} catch (const JournalError& error) {
    log(error.what());
    rest(disk_trouble());
}

void Postman::rest(const QString& why) {
    under_way_ = true;
    obstacle_ = why;
    emit waits();
    QTimer::singleShot(kRestMs, this, [this] {
        under_way_ = false;
        go();
    });
}

}  // namespace happe::study
