// SPDX-License-Identifier: GPL-2.0-or-later
// The enrolment of this laptop at a study server: a file with its token, mode 0600.
#pragma once

#include <QByteArray>
#include <QString>
#include <QUrl>
#include <tl/expected.hpp>

namespace happe::study {

struct Enrolment {
    QUrl server;
    QString study;
    QString device;  // the device's code
    QByteArray token;
};

[[nodiscard]] bool is_enrolled(const QString& state);
// Errors name the file, and the field if there is one.
[[nodiscard]] tl::expected<Enrolment, QString> read_enrolment(const QString& state);
[[nodiscard]] tl::expected<void, QString> write_enrolment(const QString& state, const Enrolment& enrolment);

// Reads the server's answer to a device that enrols.
[[nodiscard]] tl::expected<Enrolment, QString> enrolment_of(const QUrl& server, const QByteArray& answer);

}  // namespace happe::study
