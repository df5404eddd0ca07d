// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/window.h"

#include "ui/study/page_builder.h"
#include "ui/study/sitting/words.h"

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

bool is_press(const QEvent& event) {
    return event.type() == QEvent::KeyPress || event.type() == QEvent::MouseButtonPress ||
           event.type() == QEvent::MouseButtonDblClick || event.type() == QEvent::ShortcutOverride;
}

}  // namespace

Window::Window(Wizard& wizard, int settle_ms)
    : wizard_(wizard), layout_(std::make_unique<QVBoxLayout>(this).release()) {
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
    connect(&wizard_, &Wizard::shows, this, &Window::show_view);
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
    auto fresh = experimenter_ ? make_experimenters_page(view_, wizard_, [this] { dismiss_experimenter(); })
                               : make_page(view_, wizard_);
    if (page_ != nullptr) {
        layout_->removeWidget(page_);
        page_->hide();
        page_->deleteLater();
    }
    page_ = fresh.release();
    layout_->addWidget(page_);
    move_to(experimenter_ ? Place::Screen : kind_of(view_.page).place);
    page_->setFocus(Qt::OtherFocusReason);
}

void Window::settle() {
    settling_ = kind_of(view_.page).surprise && quiet_.interval() > 0;
    if (settling_) {
        quiet_.start();
    } else {
        quiet_.stop();
        tell_page();
    }
}

void Window::tell_page() const {
    const QString run = view_.code.isEmpty() ? QString() : QStringLiteral(" of run ") + view_.code;
    log("page " + std::string(kind_of(view_.page).name) + run.toStdString());
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
        leave();
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
