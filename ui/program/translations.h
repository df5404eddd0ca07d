// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

class QCoreApplication;

namespace happe::ui {

// The user's language, as far as there is one; English needs a translation, too, for its plurals.
void install_translations(QCoreApplication& application);

}  // namespace happe::ui
