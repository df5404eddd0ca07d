// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/server/uploader.h"

#include "ui/study/sitting/words.h"

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

void probe(Server& server, std::vector<Probe> probes, int rest_ms, const std::function<void(const Upload&)>& then) {
    const std::int64_t asked = now_us();
    server.ask({.method = "GET", .path = QStringLiteral("clock"), .body = {}},
               [&server, asked, probes = std::move(probes), rest_ms, then](const Answer& answer) mutable {
                   const std::int64_t reply = now_us();
                   if (answer.verdict != Verdict::Done) {  // earlier probes would be of another network
                       const int longer_ms = std::min(2 * rest_ms, kLongestRestMs);
                       QTimer::singleShot(rest_ms, &server,
                                          [&server, longer_ms, then] { probe(server, {}, longer_ms, then); });
                       return;
                   }
                   const QJsonObject told = QJsonDocument::fromJson(answer.body).object();
                   probes.push_back({asked, micros(told, "receive_us"), micros(told, "send_us"), reply});
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

void compare_clocks(Server& server, const std::function<void(const Upload&)>& then) {
    probe(server, {}, kRestMs, then);
}

void Uploader::go() {
    if (!under_way_) {
        carry();
    }
}

void Uploader::when_done(std::function<void()> then) {
    waiting_.push_back(std::move(then));
    go();
}

void Uploader::carry() try {
    const auto upload = journal_.first_upload();
    if (!upload) {
        obstacle_.clear();
        for (const auto& then : std::exchange(waiting_, {})) {
            then();
        }
        return;
    }
    under_way_ = true;
    const Request request{.method = QByteArray::fromStdString(upload->method),
                          .path = QString::fromStdString(upload->path),
                          .body = QByteArray::fromStdString(upload->body)};
    const auto hindered = [this](const Answer& answer) {
        if (answer.problem.isEmpty() && obstacle_.isEmpty()) {
            log("not sent: " + answer.detail.toStdString());
        }
        obstacle_ = answer.problem.isEmpty() ? no_answer() : answer.detail;
        emit waits();
    };
    const auto always = [] { return true; };
    const auto then = [this, upload = *upload](const Answer& answer) { delivered(upload, answer); };
    server_.insist(request, always, then, hindered);
} catch (const JournalError& error) {
    log(error.what());
    rest(disk_trouble());
}

// If the journal cannot delete a delivered upload, the uploader sends it again, which changes nothing.
void Uploader::delivered(const Upload& upload, const Answer& answer) try {
    under_way_ = false;
    if (answer.verdict == Verdict::Done) {
        journal_.sent(upload.number);
    } else {
        const std::string why =
            std::to_string(answer.status) + " " + answer.problem.toStdString() + ": " + answer.detail.toStdString();
        journal_.refused(upload.number, why);
        log("the server has refused " + upload.path + ": " + why);
    }
    carry();
} catch (const JournalError& error) {
    log(error.what());
    rest(disk_trouble());
}

void Uploader::rest(const QString& why) {
    under_way_ = true;
    obstacle_ = why;
    emit waits();
    QTimer::singleShot(kRestMs, this, [this] {
        under_way_ = false;
        go();
    });
}

}  // namespace happe::study
