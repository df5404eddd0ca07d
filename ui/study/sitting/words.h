// SPDX-License-Identifier: GPL-2.0-or-later
// What participants read, and what the log says.
#pragma once

#include <QCoreApplication>
#include <cstdio>
#include <string>

namespace happe::study {

// Writes a line on standard error. It may have codes, but never a token, a name, an answer, or a hint at a condition.
inline void log(const std::string& line) {
    std::fputs(("happe-study: " + line + "\n").c_str(), stderr);
}

// The wizard's texts; ui/study/happe_de.ts has them under this name.
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
