// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/focus_agent.h"

#include <algorithm>
#include <utility>

namespace happe::ui {
namespace {

// Desktops move the focus in several steps, and people through several windows.
constexpr std::chrono::milliseconds kSettle{100};
// A program that has just started needs a moment before it answers.
constexpr std::chrono::milliseconds kFirstPatience{500};
constexpr std::chrono::milliseconds kMostPatience = std::chrono::minutes(5);

}  // namespace

FocusAgent::FocusAgent(const QDBusConnection& system_bus, OpenSource open)
    : open_(std::move(open)), reporter_(system_bus), patience_(kFirstPatience) {
    settle_.setSingleShot(true);
    settle_.setInterval(kSettle);
    open_again_.setSingleShot(true);
    connect(&settle_, &QTimer::timeout, this, [this] { ask(); });
    connect(&open_again_, &QTimer::timeout, this, [this] { open_source(); });
}

void FocusAgent::start() {
    open_source();
}

// Further calls do not delay a look that waits already.
void FocusAgent::look() {
    patience_ = kFirstPatience;
    if (!open_again_.isActive() || open_again_.remainingTimeAsDuration() > patience_) {
        open_again_.start(patience_);
    }
}

void FocusAgent::open_source() {
    // source_lost() destroys the source, so it must run after this call has returned.
    const auto lost = [this, number = ++number_](const std::string& why) {
        QMetaObject::invokeMethod(this, [this, number, why] { source_lost(number, why); }, Qt::QueuedConnection);
    };
    auto opened = open_(source_ ? source_->by() : FocusBy::Auto,
                        {.changed = [this] { changed(); },
                         .answered = [this](const std::optional<Focus>& focus) { answered(focus); },
                         .lost = lost});
    if (opened) {
        use(*std::move(opened));
    } else if (source_) {
        --number_;
    } else {
        say(QString::fromStdString(opened.error()));
        open_again_.start(patience_);
        patience_ = std::min(2 * patience_, kMostPatience);
    }
}

void FocusAgent::use(std::unique_ptr<FocusSource> source) {
    source_ = std::move(source);
    asking_ = ask_again_ = false;
    say(source_->name());
    changed();
}

void FocusAgent::say(const QString& what) {
    if (std::exchange(said_, what) != what) {
        emit said(what);
    }
}

// Further changes do not delay the question: somebody who changes windows all the time has one in front, too.
void FocusAgent::changed() {
    if (!settle_.isActive()) {
        settle_.start();
    }
}

// Asks one question at a time, and asks again after a change. So the last answer belongs to the last change.
void FocusAgent::ask() {
    if (!source_) {
        return;
    }
    ask_again_ = asking_;
    if (std::exchange(asking_, true)) {
        return;
    }
    asked_ = boot_time_now();
    source_->ask();
}

void FocusAgent::answered(std::optional<Focus> focus) {
    asking_ = false;
    if (std::exchange(ask_again_, false)) {
        changed();
    }
    if (focus && focus->pid == 0) {
        focus->pid = finder_.find(focus->id.toStdString()).value_or(0);
    }
    if (focus) {
        patience_ = kFirstPatience;  // this source works
    }
    reporter_.tell(focus, asked_);
}

void FocusAgent::source_lost(int number, const std::string& why) {
    if (!source_ || number != number_) {
        return;
    }
    source_.reset();
    settle_.stop();
    say(QString::fromStdString(why));
    reporter_.tell(std::nullopt, boot_time_now());
    open_again_.start(patience_);
    patience_ = std::min(2 * patience_, kMostPatience);
}

}  // namespace happe::ui
