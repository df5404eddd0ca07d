// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <QCoreApplication>

namespace happe::study {

// The wizard's texts; ui/translations has them under this name.
class StudyWords {
    Q_DECLARE_TR_FUNCTIONS(StudyWords)
};

// Participants see these words. The log has the files, addresses and errors.
inline QString disk_trouble() {
    return StudyWords::tr("This laptop can't save anything on its disk now. Its log says why.");
}
inline QString no_answer() {
    return StudyWords::tr("The study's server does not answer yet.");
}
inline QString governor_trouble() {
    return StudyWords::tr("The governor happed can't do it now. This laptop's log says why.");
}

}  // namespace happe::study
