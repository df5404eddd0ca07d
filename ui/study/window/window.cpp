// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/window/window.h"

#include "ui/study/window/sheet.h"
#include "ui/study/words/log.h"

#include <QCloseEvent>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QScreen>
#include <utility>

namespace happe::study {
namespace {

constexpr int kForwardMs = 250;  // after ours appears, the application's windows vanish and others come forward
constexpr int kForwards = 6;
constexpr QSize kOnDesktop{900, 620};

// Pages that appear while the participant's hands are elsewhere, such as on the game's keys.
bool is_surprise(Page page) {
    return page == Page::Rate || page == Page::Interrupted || page == Page::Trouble || page == Page::Stopped;
}

bool is_press(const QEvent& event) {
    return event.type() == QEvent::KeyPress || event.type() == QEvent::MouseButtonPress ||
           event.type() == QEvent::MouseButtonDblClick || event.type() == QEvent::ShortcutOverride;
}

}  // namespace

const char* name_of(Page page) {
    switch (page) {
        case Page::Welcome:
            return "welcome";
        case Page::Handout:
            return "handout";
        case Page::Practice:
            return "practice";
        case Page::Ready:
            return "ready";
        case Page::Waiting:
            return "waiting";
        case Page::Countdown:
            return "countdown";
        case Page::Playing:
            return "playing";
        case Page::Interrupted:
            return "interrupted";
        case Page::Rate:
            return "rate";
        case Page::Guess:
            return "guess";
        case Page::Stopped:
            return "stopped";
        case Page::Sending:
            return "sending";
        case Page::Goodbye:
            return "goodbye";
        case Page::Trouble:
            return "trouble";
    }
    return "";
}

Window::Window(Hands hands, int settle_ms)
    : hands_(std::move(hands)), layout_(std::make_unique<QVBoxLayout>(this).release()) {
    setObjectName(QStringLiteral("window"));
    setWindowTitle(QStringLiteral("HAPPE"));
    setStyleSheet(style_sheet());
    setAttribute(Qt::WA_StyledBackground);
    layout_->setContentsMargins(0, 0, 0, 0);
    quiet_.setSingleShot(true);
    quiet_.setInterval(settle_ms);
    connect(&quiet_, &QTimer::timeout, this, [this] {
        settling_ = false;
        tell_page();
    });
    forward_.setInterval(kForwardMs);
    connect(&forward_, &QTimer::timeout, this, &Window::come_forward);
    QGuiApplication::instance()->installEventFilter(this);
}

Window::Place Window::place() const {
    if (experimenter_) {
        return Place::Screen;
    }
    switch (view_.page) {
        case Page::Playing:
            return Place::Nowhere;
        case Page::Welcome:
        case Page::Handout:
            return Place::Desktop;
        case Page::Practice:
        case Page::Ready:
        case Page::Waiting:
        case Page::Countdown:
        case Page::Interrupted:
        case Page::Rate:
        case Page::Guess:
        case Page::Stopped:
        case Page::Sending:
        case Page::Goodbye:
        case Page::Trouble:
            break;
    }
    return Place::Screen;
}

void Window::show_view(const View& view) {
    const bool other = page_ == nullptr || view.page != view_.page || view.code != view_.code;
    view_ = view;
    if (!experimenter_) {
        render();
        if (other) {
            settle();
        }
    }
}

void Window::call_experimenter() {
    if (!std::exchange(experimenter_, true)) {
        render();
        log("the experimenter is asked");
    }
    come_forward();
}

void Window::dismiss_experimenter() {
    if (std::exchange(experimenter_, false)) {
        render();
        settle();
    }
}

void Window::render() {
    auto fresh = experimenter_ ? make_experimenters_page(view_, hands_) : make_page(view_, hands_);
    if (page_ != nullptr) {
        layout_->removeWidget(page_);
        page_->hide();
        page_->deleteLater();
    }
    page_ = fresh.release();
    layout_->addWidget(page_);
    move_to(place());
    page_->setFocus(Qt::OtherFocusReason);
}

void Window::settle() {
    settling_ = is_surprise(view_.page) && quiet_.interval() > 0;
    if (settling_) {
        quiet_.start();
    } else {
        quiet_.stop();
        tell_page();
    }
}

void Window::tell_page() const {
    const QString run = view_.code.isEmpty() ? QString() : QStringLiteral(" of run ") + view_.code;
    log("page " + std::string(name_of(view_.page)) + run.toStdString());
}

void Window::move_to(Place place) {
    if (place == place_) {
        return;
    }
    place_ = place;
    forward_.stop();
    if (place == Place::Nowhere) {
        hide();
        return;
    }
    const bool screen = place == Place::Screen;
    setWindowFlag(Qt::WindowStaysOnTopHint, screen);  // this call hides the window
    if (screen) {
        showFullScreen();
        forwards_ = kForwards;
        forward_.start();
    } else {
        resize(kOnDesktop);
        showNormal();
    }
    come_forward();
}

void Window::come_forward() {
    if (forwards_-- <= 0) {
        forward_.stop();
    }
    raise();
    activateWindow();
    if (QGuiApplication::platformName() == QStringLiteral("xcb")) {
        emit comes_forward(winId());
    }
}

bool Window::eventFilter(QObject* watched, QEvent* event) {
    const auto* const key = dynamic_cast<QKeyEvent*>(event);
    if (key != nullptr && key->isAutoRepeat() && place_ == Place::Screen && !experimenter_) {
        return true;  // somebody already held the key when the page appeared
    }
    if (settling_ && !experimenter_ && is_press(*event)) {
        quiet_.start();
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

// A participant must not close the window by accident.
void Window::closeEvent(QCloseEvent* event) {
    event->ignore();
    if (place_ == Place::Desktop || view_.page == Page::Goodbye) {
        hands_.leave();
    }
}

// If programs cannot grab keys, as on Wayland, the chord works on the wizard's own pages.
void Window::keyPressEvent(QKeyEvent* event) {
    constexpr auto kChord = Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier;
    if (event->key() == Qt::Key_Q && event->modifiers() == kChord) {
        call_experimenter();
    } else if (event->key() == Qt::Key_Escape) {
        dismiss_experimenter();
    } else {
        QWidget::keyPressEvent(event);
    }
}

}  // namespace happe::study
