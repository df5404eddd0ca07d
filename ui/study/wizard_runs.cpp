// SPDX-License-Identifier: GPL-2.0-or-later
// The wizard's runs, and the practice before them.
#include "ui/study/server/server.h"
#include "ui/study/sitting/words.h"
#include "ui/study/wizard.h"

#include <algorithm>

namespace happe::study {
namespace {

constexpr int kSecondMs = 1000;
constexpr std::int64_t kSecondUs = 1'000'000;
constexpr qsizetype kLongestReason = 500;

QStringList words_of(const std::vector<std::string>& command) {
    QStringList words;
    std::ranges::transform(command, std::back_inserter(words), &QString::fromStdString);
    return words;
}

// Ends a run at happed, or fetches one that has ended.
void fetch_recording(DaemonProxy& governor, const QString& run,
                     const std::function<void(const Result<Recording>&)>& then) {
    governor.stop(run, [&governor, run, then](const Result<QByteArray>& trace) {
        if (!trace) {
            then(tl::unexpected(trace.error()));
            return;
        }
        governor.facts(run, [then, trace = *trace](const Result<QByteArray>& facts) {
            then(facts.map([&](const QByteArray& text) {
                return Recording{.trace = trace.toStdString(), .facts = text.toStdString()};
            }));
        });
    });
}

}  // namespace

void Wizard::begin() {
    if (view_.page == Page::Practice) {
        return practise();
    }
    if (view_.page != Page::Ready && view_.page != Page::Interrupted) {
        return;
    }
    tasks_.next();
    show(Page::Waiting);
    const std::string wanted = planned().code;
    uploader_.when_done(tasks_.if_current([this, wanted] {
        refresh([this, wanted] {
            const Next now = next(*sitting_, journal_.runs(), journal_.practised());
            const bool same = now.run < sitting_->runs.size() && sitting_->runs[now.run].code == wanted &&
                              (now.phase == Phase::Ready || now.phase == Phase::Interrupted);
            if (!same) {
                return go_on();
            }
            journal_.begin(wanted, new_id());
            fetch_seal();
        });
    }));
}

// The server seals a run's condition once, and gives the same answer to each request with the same id.
void Wizard::fetch_seal() {
    const auto run = known();
    server_.insist(start_of(code(), run ? run->start_id : ""), tasks_.is_current(),
                   tasks_.if_current([this](const Answer& answer) {
                       if (answer.verdict == Verdict::Done) {
                           count_down(settings_.countdown_s, seal_in(answer.body));
                       } else {
                           fail(answer.detail, [this] { go_on(); });
                       }
                   }),
                   tasks_.if_current([this](const Answer& answer) {
                       show(Page::Waiting, answer.problem.isEmpty() ? no_answer() : answer.detail);
                   }));
}

void Wizard::count_down(int seconds, const QByteArray& seal) {
    if (seconds == 0) {
        return start_run(seal);
    }
    show(Page::Countdown);
    view_.seconds = seconds;
    emit shows(view_);
    later(kSecondMs, [this, seconds, seal] { count_down(seconds - 1, seal); });
}

void Wizard::start_run(const QByteArray& seal) {
    show(Page::Playing);
    const QString study = QString::fromStdString(sitting_->study);
    governor_.start(seal, study, code(), [this, wanted = tasks_.is_current()](const Result<QString>& governor_run) {
        if (!wanted()) {  // somebody stopped the run meanwhile
            if (governor_run) {
                governor_.stop(*governor_run, [](const Result<QByteArray>&) {});
            }
        } else if (governor_run) {
            play(*governor_run);
        } else {
            interrupted(governor_trouble(),
                        "begun again: happed could not start it: " + governor_run.error().toStdString());
        }
    });
}

// If writing the journal fails, this run at happed is over, and the next attempt starts a new one.
void Wizard::play(const QString& governor_run) {
    governor_run_ = governor_run;
    const auto plays = [this] {
        journal_.running(planned().code, governor_run_.toStdString());
        show(Page::Playing);
        log("run " + planned().code + " begins");
        clock_.start(planned().seconds *
                     kSecondMs);  // first, because an application that cannot start ends at once and stops the clock
        application_.start(words_of(planned().command), planned().cpu);
    };
    written(plays, [this] { go_on(); });
}

void Wizard::end_run() {
    application_.stop();
    const QString ended = std::exchange(governor_run_, {});
    fetch_recording(governor_, ended, tasks_.if_current([this](const Result<Recording>& recording) {
        if (recording) {
            keep_recording(*recording);
        } else {
            interrupted(governor_trouble(),
                        "begun again: happed's recording could not be read: " + recording.error().toStdString());
        }
    }));
}

void Wizard::keep_recording(const Recording& recording) {
    written([this, recording] {
        journal_.ended(planned().code, recording);
        log("run " + planned().code + " has ended");
        go_on();
    });
}

// The wizard had ended during a run. The run counts if it had lasted its full time by then.
void Wizard::recover() {
    show(Page::Waiting);
    const auto run = known();
    fetch_recording(governor_, QString::fromStdString(run->governor_run),
                    tasks_.if_current([this](const Result<Recording>& recording) {
                        const auto lasted = recording ? lasted_us(*recording).value_or(0) : 0;
                        if (lasted >= planned().seconds * kSecondUs) {
                            keep_recording(*recording);
                        } else {
                            interrupted({}, "begun again: the laptop or the wizard had ended");
                        }
                    }));
}

// Ends this attempt. The run will begin again.
void Wizard::interrupted(const QString& why, const std::string& note) {
    abandon();
    tasks_.next();
    written([this, why, note] {
        log("run " + planned().code + " " + note);
        journal_.note(planned().code, note);
        show(Page::Interrupted, why);
    });
}

// Ends the run or practice that is on.
void Wizard::abandon() {
    clock_.stop();
    application_.stop();
    if (const QString ended = std::exchange(governor_run_, {}); !ended.isEmpty()) {
        governor_.stop(ended, [](const Result<QByteArray>&) {});
    }
    if (const auto cookie = std::exchange(hold_, {})) {
        governor_.release(*cookie);
    }
}

void Wizard::application_ended(const QString& why) {
    if (!why.isEmpty()) {
        log(why.toStdString());
    }
    const QString failed = StudyWords::tr("The application can't be started. This laptop's log says why.");
    if (hold_) {
        why.isEmpty() ? end_practice() : fail(failed, [this] { go_on(); });
    } else if (!governor_run_.isEmpty()) {
        interrupted(why.isEmpty() ? StudyWords::tr("The application has ended by itself.") : failed,
                    "begun again: the application had ended");
    }
}

void Wizard::rate(int rating) {
    if (view_.page != Page::Rate || rating < sitting_->rating.lowest || rating > sitting_->rating.highest) {
        return;
    }
    written([this, rating] { settle_rating(rating); });
}

// A rating without a record is better than none.
void Wizard::settle_rating(int rating) {
    const std::string& run = planned().code;
    const std::string id = new_id();
    std::vector<Upload> uploads{rating_of(run, new_id(), rating)};
    const Answers answers{.rating = rating, .notes = known().value_or(KnownRun()).notes};
    if (const auto record = compose_record(run, id, journal_.recording(run), answers)) {
        uploads.push_back(record_of(run, id, *record));
    } else {
        journal_.note(run, "no record: what happed had kept could not be read");
        log("run " + run + " has no record: what happed had kept could not be read");
    }
    journal_.settle(run, sitting_->guess ? Step::Rated : Step::Answered, uploads);
    log("run " + run + " is rated");
    go_on();
}

void Wizard::guess(const std::string& choice) {
    if (view_.page == Page::Guess) {
        written([this, choice] {
            const std::string& run = planned().code;
            journal_.settle(run, Step::Answered, {guess_of(run, new_id(), choice)});
            log("run " + run + " is answered");
            go_on();
        });
    }
}

void Wizard::stop_run(const QString& reason) {
    if (!view_.may_stop || reason.trimmed().isEmpty()) {
        return;
    }
    tasks_.next();
    const std::string why = reason.simplified().left(kLongestReason).toStdString();
    const QString ended = std::exchange(governor_run_, {});
    abandon();
    if (!ended.isEmpty()) {
        fetch_recording(governor_, ended, tasks_.if_current([this, why](const Result<Recording>& recording) {
            abort(why, recording ? std::optional(*recording) : std::nullopt);
        }));
        return;
    }
    written([this, why] {
        const auto run = known();
        const bool recorded = run && run->step == Step::Ended;
        abort(why, recorded ? std::optional(journal_.recording(run->code)) : std::nullopt);
    });
}

void Wizard::abort(const std::string& reason, const std::optional<Recording>& recording) {
    written([this, reason, recording] {
        const std::string& run = planned().code;
        std::vector<Upload> uploads{abortion_of(run, reason)};
        const std::string id = new_id();
        const auto notes = known().value_or(KnownRun()).notes;
        if (recording) {
            if (const auto record = compose_record(run, id, *recording, {.rating = {}, .notes = notes})) {
                uploads.push_back(record_of(run, id, *record));
            }
        }
        journal_.settle(run, Step::Aborted, uploads);
        log("run " + run + " is aborted");
        go_on();
    });
}

void Wizard::practise() {
    tasks_.next();
    show(Page::Waiting);
    practised_ = planned().application;
    hold([this] {
        show(Page::Playing);
        clock_.start(planned().practice_seconds * kSecondMs);
        application_.start(words_of(planned().command), planned().cpu);
    });
}

void Wizard::hold(const Act& then) {
    const auto holds = [this, then, wanted = tasks_.is_current()](const Result<uint>& cookie) {
        if (!wanted()) {  // practice is over, or the participant has left
            if (cookie) {
                governor_.release(*cookie);
            }
        } else if (cookie) {
            hold_ = *cookie;
            then();
        } else {
            log("happed: " + cookie.error().toStdString());
            fail(governor_trouble(), [this] { go_on(); });
        }
    };
    governor_.hold(QString::fromStdString(practised_), holds);
}

void Wizard::skip_practice() {
    if (view_.page == Page::Practice) {
        practised_ = planned().application;
        end_practice();
    }
}

// Practice may have ended since the button appeared.
void Wizard::stop_practice() {
    if (hold_) {
        end_practice();
    }
}

void Wizard::end_practice() {
    abandon();
    written([this, application = practised_] {
        journal_.practise(application);
        go_on();
    });
}

}  // namespace happe::study
