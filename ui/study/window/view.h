// SPDX-License-Identifier: GPL-2.0-or-later
// The content of the window.
#pragma once

#include "ui/study/sitting/sitting.h"

#include <QString>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace happe::study {

enum class Page : std::uint8_t {
    Welcome,      // asks for the participant's link
    Handout,      // in the browser
    Practice,     // practice with an application is next
    Ready,        // a run is next
    Waiting,      // for the server
    Countdown,    // `seconds` are left
    Playing,      // the wizard shows nothing
    Interrupted,  // the run begins again
    Rate,
    Guess,
    Stopped,  // aborted, not planned again yet
    Sending,  // all is done, but the server does not have all uploads
    Goodbye,
    Trouble,  // somebody must do something
};

struct View {
    Page page = Page::Welcome;
    std::size_t number = 0;  // the number of the run, from 1; 0: none
    std::size_t total = 0;
    QString application;
    QString code;  // the run's code, for the experimenter
    int seconds = 0;
    QString detail;  // the error, or what the wizard waits for
    Scale scale;
    Guess guess;
    bool practises = false;  // practice goes on
    bool may_stop = false;   // there is a run that the experimenter may stop
    bool may_leave = false;  // there is a participant, and no run is on
    bool refused = false;    // the server has refused a upload in the journal
};

}  // namespace happe::study
