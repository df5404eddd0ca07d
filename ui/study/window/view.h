// SPDX-License-Identifier: GPL-2.0-or-later
// What the window shows.
#pragma once

#include "ui/study/sitting/sitting.h"

#include <QString>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace happe::study {

enum class Page : std::uint8_t {
    Welcome,      // who sits here?
    Handout,      // in the browser
    Practice,     // of an application is next
    Ready,        // a run is next
    Waiting,      // for the server
    Countdown,    // `seconds` are left
    Playing,      // the wizard shows nothing
    Interrupted,  // the run begins again
    Rate,
    Guess,
    Stopped,  // aborted, not planned again yet
    Sending,  // all is done except for what the server has not got
    Goodbye,
    Trouble,  // somebody must do something
};

struct View {
    Page page = Page::Welcome;
    std::size_t number = 0;  // of the run, from 1; 0: none
    std::size_t total = 0;
    QString application;
    QString code;  // of the run, for the experimenter
    int seconds = 0;
    QString detail;  // what went wrong, or is waited for
    Scale scale;
    Guess guess;
    bool practises = false;  // it goes on
    bool may_stop = false;   // there is a run that the experimenter may stop
    bool may_leave = false;  // there is a participant, and no run that is on
    bool refused = false;    // something that is kept here, by the server
};

}  // namespace happe::study
