// SPDX-License-Identifier: GPL-2.0-or-later
// What this laptop is to a study server: a file, 0600, which holds its token.
#pragma once

#include <QByteArray>
#include <QString>
#include <QUrl>
#include <tl/expected.hpp>

namespace happe::study {

struct Enrolment {
    QUrl server;
    QString study;
    QString device;  // its code
    QByteArray token;
};

[[nodiscard]] bool is_enrolled(const QString& state);
// Errors name the file, and where there is one the field.
[[nodiscard]] tl::expected<Enrolment, QString> read_enrolment(const QString& state);
[[nodiscard]] tl::expected<void, QString> write_enrolment(const QString& state, const Enrolment& enrolment);

// What the server answers a device that enrols.
[[nodiscard]] tl::expected<Enrolment, QString> enrolment_of(const QUrl& server, const QByteArray& answer);

}  // namespace happe::study
