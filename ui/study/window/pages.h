// SPDX-License-Identifier: GPL-2.0-or-later
// The wizard's pages as widgets. Each view gets a new page.
#pragma once

#include "ui/study/window/view.h"

#include <QString>
#include <QWidget>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace happe::study {

// The actions of people on pages.
struct PageActions {
    std::function<void(const QString&)> sit_down;
    std::function<void()> open_pages;
    std::function<void()> begin;
    std::function<void()> skip_practice;
    std::function<void(int)> rate;
    std::function<void(const std::string&)> guess;
    std::function<void()> try_again;
    std::function<void()> go_on;
    // The actions of the experimenter.
    std::function<void(const QString&)> stop_run;
    std::function<void()> stop_practice;
    std::function<void()> stand_up;
    std::function<void()> leave;
    std::function<void()> back;
};

// Where the window shows a page.
enum class Place : std::uint8_t { Nowhere, Desktop, Screen };

struct PageKind {
    const char* name;  // for the log
    Place place;
    bool surprise = false;  // it appears while the participant's hands are elsewhere, such as on the game's keys
};

[[nodiscard]] const PageKind& kind_of(Page page);
[[nodiscard]] std::unique_ptr<QWidget> make_page(const View& view, const PageActions& actions);
[[nodiscard]] std::unique_ptr<QWidget> make_experimenters_page(const View& view, const PageActions& actions);

// The style of the pages.
[[nodiscard]] QString style_sheet();

}  // namespace happe::study
