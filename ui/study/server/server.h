// SPDX-License-Identifier: GPL-2.0-or-later
// The study server's interface for devices, over HTTP. Never blocks. Answers go to functions, which are not called
// after the Server is destroyed.
#pragma once

#include <QByteArray>
#include <QNetworkAccessManager>
#include <QObject>
#include <QString>
#include <QUrl>
#include <functional>
#include <string>

class QNetworkReply;

namespace happe::study {

// Judges an answer, and whether the study server sent it: a proxy or the sign-in page of a network may have answered
// instead.
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

struct Request {
    QByteArray method;
    QString path;  // below /api/v1/
    QByteArray body;
};

class Server final : public QObject {
    Q_OBJECT

public:
    using Then = std::function<void(const Answer&)>;
    using Wanted = std::function<bool()>;

    Server(QUrl base, QByteArray token);

    void ask(const Request& request, Then then);
    // Repeats a request with growing pauses until it is done or refused. Stops silently when it is not `wanted` any
    // more. `meanwhile` gets each other answer.
    void insist(const Request& request, const Wanted& wanted, const Then& then, const Then& meanwhile);

private:
    void insist_after(int wait_ms, const Request& request, const Wanted& wanted, const Then& then,
                      const Then& meanwhile);
    [[nodiscard]] QNetworkReply* send(const Request& request);

    QUrl base_;
    QByteArray token_;
    QNetworkAccessManager network_;
};

// The address of a study server: https, or a server on this machine. Empty if it is neither.
[[nodiscard]] QUrl server_address(const QString& text);

// A laptop's requests to the study server about a participant and their runs.

// The token at the end of a participant's link; a token alone stays the same.
[[nodiscard]] std::string token_of(const QString& link);
// The participant's page for a browser.
[[nodiscard]] QUrl page_of(const QUrl& server, const std::string& token);

// The participant sits down here; the answer is a sitting (sitting.h).
[[nodiscard]] Request sitting_of(const std::string& token);
[[nodiscard]] Request leaving();

// The server seals a run's condition once, and gives the same answer to each request with the same id.
[[nodiscard]] Request start_of(const QString& run, const std::string& id);
[[nodiscard]] QByteArray seal_in(const QByteArray& answer);

}  // namespace happe::study
