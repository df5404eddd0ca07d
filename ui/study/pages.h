// SPDX-License-Identifier: GPL-2.0-or-later
// The wizard's pages as widgets. Each view gets a new page.
#pragma once

#include "ui/study/wizard.h"

#include <QString>
#include <QWidget>
#include <cstdint>
#include <functional>
#include <memory>

namespace happe::study {

// Where the window shows a page.
enum class Place : std::uint8_t { Nowhere, Desktop, Screen };

struct PageKind {
    const char* name;  // for the log
    Place place;
    bool surprise = false;  // it appears while the participant's hands are elsewhere, such as on the game's keys
};

[[nodiscard]] const PageKind& kind_of(Page page);
[[nodiscard]] std::unique_ptr<QWidget> make_page(const View& view, Wizard& wizard);
// `back` dismisses the page.
[[nodiscard]] std::unique_ptr<QWidget> make_experimenters_page(const View& view, Wizard& wizard,
                                                               const std::function<void()>& back);

// Ends the program.
void leave();

// The style of the pages.
[[nodiscard]] QString style_sheet();

}  // namespace happe::study
