// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <QCoreApplication>

namespace happe::study {

// The wizard's words, under this name in ui/translations.
class StudyWords {
    Q_DECLARE_TR_FUNCTIONS(StudyWords)
};

}  // namespace happe::study
