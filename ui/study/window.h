// SPDX-License-Identifier: GPL-2.0-or-later
// The wizard's only window: full screen and above everything. It is an ordinary window while the participant reads in
// the browser, and hidden while they play.
#pragma once

#include "ui/study/pages.h"
#include "ui/study/wizard.h"

#include <QTimer>
#include <QWidget>
#include <memory>

class QVBoxLayout;

namespace happe::study {

class Window final : public QWidget {
    Q_OBJECT

public:
    // `settle_ms`: a page that appears by surprise accepts an answer only after this time without a press.
    Window(Wizard& wizard, int settle_ms);
    ~Window() override = default;

    void show_view(const View& view);
    void call_experimenter();
    void dismiss_experimenter();

signals:
    // The window must come to the front, on X11.
    void comes_forward(quintptr window);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void closeEvent(QCloseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void render();
    void settle();
    void move_to(Place place);
    void come_forward();
    void tell_page() const;

    Wizard& wizard_;
    View view_;
    bool experimenter_ = false;
    bool settling_ = false;
    QTimer quiet_;
    QTimer forward_;
    int forwards_ = 0;
    Place place_ = Place::Nowhere;
    QVBoxLayout* layout_;
    QWidget* page_ = nullptr;
};

}  // namespace happe::study
