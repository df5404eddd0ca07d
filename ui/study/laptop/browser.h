// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <QString>
#include <QUrl>

namespace happe::study {

// Opens a participant's page. Its address is a secret and is in no command line: the browser is given a file in this
// folder, which leads there. What went wrong, in words; else empty.
[[nodiscard]] QString open_in_browser(const QUrl& address, const QString& program, const QString& folder);
void forget_page(const QString& folder);

}  // namespace happe::study
