// SPDX-License-Identifier: GPL-2.0-or-later
// What came back when the study server was asked, and whether it was the study server that said it: between the two
// there may be a proxy, or a page that wants somebody to sign in to a network.
#pragma once

#include <QByteArray>
#include <QString>
#include <cstdint>

namespace happe::study {

enum class Verdict : std::uint8_t {
    Done,
    Later,    // nobody there, somebody else, or not now: the same again
    Refused,  // by the study server, and always will be
};

struct Answer {
    Verdict verdict = Verdict::Later;
    int status = 0;  // 0: none came
    QByteArray body;
    QString problem;  // the kind, as in urn:happe:problem:KIND
    QString detail;   // for people
};

inline constexpr int kClientError = 400;  // the least status of HTTP that is an error

// As in HTTP. `failure`: what went wrong underneath, so that what came may be less than was sent; else empty.
struct Heard {
    int status = 0;
    QString failure;
    QString type;  // the body's
    QByteArray body;
};

// Done: a success that is whole, and JSON or nothing (204). Refused: a problem of the study server's own, unless it may
// pass. Everything else is Later, so that no letter is lost to whoever answers in the server's place.
[[nodiscard]] Answer answer_of(const Heard& heard);

}  // namespace happe::study
