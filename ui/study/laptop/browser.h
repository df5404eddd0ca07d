// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <QString>
#include <QUrl>

namespace happe::study {

// Opens a participant's page. Its address is secret and must not be on a command line, so the browser gets a file in
// `folder` that leads there. Returns the error; empty if it worked.
[[nodiscard]] QString open_in_browser(const QUrl& address, const QString& program, const QString& folder);
void forget_page(const QString& folder);

}  // namespace happe::study
