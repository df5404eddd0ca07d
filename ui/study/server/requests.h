// SPDX-License-Identifier: GPL-2.0-or-later
// A laptop's requests to the study server about a participant and their runs.
#pragma once

#include "ui/study/server/server.h"

#include <QByteArray>
#include <QString>
#include <QUrl>
#include <string>

namespace happe::study {

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
