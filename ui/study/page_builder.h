// SPDX-License-Identifier: GPL-2.0-or-later
// Builds a page: one column in the middle of the screen, filled from the top.
#pragma once

#include "ui/study/wizard.h"

#include <QLabel>
#include <QPushButton>
#include <QString>
#include <QVBoxLayout>
#include <QWidget>
#include <functional>
#include <memory>
#include <utility>

namespace happe::study {

// A widget that its parent owns.
template <typename T, typename... Arguments>
T* made_in(QWidget& parent, Arguments&&... arguments) {
    return std::make_unique<T>(std::forward<Arguments>(arguments)..., &parent).release();
}

class PageBuilder {
public:
    PageBuilder();

    // The place in the study: "Run 3 of 16 - Torcs".
    void where(const View& view);
    void title(const QString& text);
    void text(const QString& text);
    void note(const QString& text);                        // an error; adds nothing if it is empty
    void ends(const QString& left, const QString& right);  // the labels of a scale's ends
    void begin_with(QWidget& widget) {
        page_->setFocusProxy(&widget);
    }  // the widget that has the keyboard first; the last call counts
    void add(QWidget& widget) { column_->addWidget(&widget); }
    QPushButton& main_button(const QString& text, const std::function<void()>& act);
    QPushButton& other_button(const QString& text, const std::function<void()>& act);
    // The participant's progress.
    void progress(std::size_t behind, std::size_t total);

    [[nodiscard]] QWidget& content() { return *content_; }
    [[nodiscard]] std::unique_ptr<QWidget> finished();

private:
    QLabel& label(const QString& text, const char* kind);
    QPushButton& button(const QString& text, const char* kind, const std::function<void()>& act);

    std::unique_ptr<QWidget> page_;
    QWidget* content_;
    QVBoxLayout* column_;
    QLayout* buttons_ = nullptr;
};

}  // namespace happe::study
