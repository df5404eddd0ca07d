// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/window/home_window.h"

#include "ui/study/window/window.h"
#include "ui/study/words/log.h"
#include "ui/study/words/study_words.h"

#include <QCloseEvent>
#include <QMessageBox>
#include <QVBoxLayout>
#include <chrono>

namespace happe::study {
namespace {

constexpr QSize kSize{900, 620};
constexpr auto kLater = std::chrono::hours{1};

}  // namespace

HomeWindow::HomeWindow(Hands hands) : hands_(std::move(hands)), layout_(std::make_unique<QVBoxLayout>(this).release()) {
    setObjectName(QStringLiteral("window"));
    setWindowTitle(QStringLiteral("HAPPE"));
    setStyleSheet(style_sheet());
    setAttribute(Qt::WA_StyledBackground);
    setAttribute(Qt::WA_ShowWithoutActivating);  // somebody may be typing into another window
    resize(kSize);
    layout_->setContentsMargins(0, 0, 0, 0);
    later_.setSingleShot(true);
    later_.setInterval(kLater);
    connect(&later_, &QTimer::timeout, this, &QWidget::show);
    hands_.later = [this] { come_later(); };
    hands_.stand_up = [this, leave = hands_.stand_up] { ask_whether_to_leave(leave); };
}

void HomeWindow::show_view(const View& view) {
    if (view.page == view_.page && view.code == view_.code) {
        return;
    }
    view_ = view;
    later_.stop();
    if (page_ != nullptr) {
        layout_->removeWidget(page_);
        page_->hide();
        std::exchange(page_, nullptr)->deleteLater();
    }
    if (view.page == Page::Playing) {
        hide();
        return;
    }
    page_ = make_page(view, hands_).release();
    layout_->addWidget(page_);
    show();
    page_->setFocus(Qt::OtherFocusReason);
    log("page " + std::string(name_of(view.page)) + (view.code.isEmpty() ? "" : " of run " + view.code.toStdString()));
}

void HomeWindow::come_later() {
    hide();
    later_.start();
}

void HomeWindow::ask_whether_to_leave(const std::function<void()>& leave) {
    auto* const question = new QMessageBox(
        QMessageBox::Question, windowTitle(),
        StudyWords::tr("Do you want to leave the study? It then ends on this laptop, and HAPPE goes on without it."),
        QMessageBox::Yes | QMessageBox::No, this);
    question->setAttribute(Qt::WA_DeleteOnClose);
    question->setDefaultButton(QMessageBox::No);
    connect(question, &QMessageBox::finished, this, [leave](int answer) {
        if (answer == QMessageBox::Yes) {
            leave();
        }
    });
    question->open();
}

void HomeWindow::closeEvent(QCloseEvent* event) {
    event->ignore();
    view_.page == Page::Goodbye ? hands_.leave() : come_later();
}

}  // namespace happe::study
