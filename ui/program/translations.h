// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

class QCoreApplication;

namespace happe::ui {

// Installs the translation into the user's language, if there is one. English needs one, too, for its plurals.
void install_translations(QCoreApplication& application);

}  // namespace happe::ui
