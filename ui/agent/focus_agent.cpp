// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/focus_agent.h"

#include <utility>

namespace happe::ui {
namespace {

// Desktops move the focus in several steps, and people through several windows.
constexpr std::chrono::milliseconds kSettle{100};
// A compositor that restarts is back by then; a session that ended is not.
constexpr std::chrono::milliseconds kBeforeReopen{500};
constexpr int kMostReopened = 40;

}  // namespace

FocusAgent::FocusAgent(const QDBusConnection& system_bus, OpenSource open)
    : open_(std::move(open)), teller_(system_bus) {
    settle_.setSingleShot(true);
    settle_.setInterval(kSettle);
    reopen_.setSingleShot(true);
    reopen_.setInterval(kBeforeReopen);
    connect(&settle_, &QTimer::timeout, this, [this] { ask(); });
    connect(&reopen_, &QTimer::timeout, this, [this] { open_again(); });
}

std::string FocusAgent::start() {
    return open_source();
}

std::string FocusAgent::open_source() {
    // It ends the source that calls it: not before the call has returned.
    const auto lost = [this](const std::string& why) {
        QMetaObject::invokeMethod(this, [this, why] { source_lost(why); }, Qt::QueuedConnection);
    };
    auto opened = open_({.changed = [this] { changed(); },
                         .answered = [this](const std::optional<Focus>& focus) { answered(focus); },
                         .lost = lost});
    if (!opened) {
        return opened.error();
    }
    source_ = *std::move(opened);
    asking_ = ask_again_ = false;
    if (std::exchange(name_, source_->name()) != source_->name()) {
        emit said(name_);
    }
    changed();
    return {};
}

// Not put off by what changes while it waits: who changes windows all the time has one in front, too.
void FocusAgent::changed() {
    if (!settle_.isActive()) {
        settle_.start();
    }
}

// One question at a time. What changes after it was asked is asked for again, so the last answer is of the last change.
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
    teller_.tell(focus, asked_);
}

void FocusAgent::source_lost(const std::string& why) {
    if (!source_) {
        return;
    }
    source_.reset();
    settle_.stop();
    name_.clear();
    emit said(QString::fromStdString(why));
    teller_.tell(std::nullopt, boot_time_now());
    reopened_ = 0;
    reopen_.start();
}

void FocusAgent::open_again() {
    if (open_source().empty()) {
        return;
    }
    if (++reopened_ < kMostReopened) {
        reopen_.start();
    } else {
        emit given_up();
    }
}

}  // namespace happe::ui
