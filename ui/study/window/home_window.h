// SPDX-License-Identifier: GPL-2.0-or-later
// The window of a study at home: an ordinary window that asks about a day. "Later" hides it for an hour.
#pragma once

#include "ui/study/window/pages.h"
#include "ui/study/window/view.h"

#include <QTimer>
#include <QWidget>

class QVBoxLayout;

namespace happe::study {

class HomeWindow final : public QWidget {
    Q_OBJECT

public:
    explicit HomeWindow(Hands hands);
    ~HomeWindow() override = default;

    // Page::Playing hides the window.
    void show_view(const View& view);

protected:
    void closeEvent(QCloseEvent* event) override;

private:
    void come_later();
    void ask_whether_to_leave(const std::function<void()>& leave);

    Hands hands_;
    View view_{.page = Page::Playing};
    QTimer later_;
    QVBoxLayout* layout_;
    QWidget* page_ = nullptr;
};

}  // namespace happe::study
