// SPDX-License-Identifier: GPL-2.0-or-later
// Judges an answer to a request, and whether the study server sent it: a proxy or the sign-in page of a network may
// have answered instead.
#pragma once

#include <QByteArray>
#include <QString>
#include <cstdint>

namespace happe::study {

enum class Verdict : std::uint8_t {
    Done,
    Later,    // no answer, not the study server's, or not possible now: try again
    Refused,  // the study server refuses, and always will
};

struct Answer {
    Verdict verdict = Verdict::Later;
    int status = 0;  // 0: no answer
    QByteArray body;
    QString problem;  // the kind, as in urn:happe:problem:KIND
    QString detail;   // for people
};

inline constexpr int kClientError = 400;  // the least status of HTTP that is an error

// An answer of HTTP. `failure`: the network's error, after which the body may be incomplete; otherwise empty.
struct Reply {
    int status = 0;
    QString failure;
    QString type;  // the body's
    QByteArray body;
};

// Done: a complete success with JSON, or without a body (204). Refused: a problem document of the study server, unless
// the problem may pass. Everything else is Later, so that no upload is lost if somebody else answers.
[[nodiscard]] Answer answer_of(const Reply& reply);

}  // namespace happe::study
