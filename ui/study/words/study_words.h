// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <QCoreApplication>

namespace happe::study {

// The wizard's words, under this name in ui/translations.
class StudyWords {
    Q_DECLARE_TR_FUNCTIONS(StudyWords)
};

// What people are shown when the journal can't be read or written. The log has the file and the error.
inline QString disk_trouble() {
    return StudyWords::tr("This laptop can't keep anything on its disk now. Its log says why.");
}

}  // namespace happe::study
