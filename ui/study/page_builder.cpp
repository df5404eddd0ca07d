// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/page_builder.h"

#include "ui/study/sitting/words.h"

#include <QHBoxLayout>
#include <QProgressBar>

namespace happe::study {
namespace {

constexpr int kWidth = 760;
constexpr int kMargin = 24;
constexpr int kGap = 18;

}  // namespace

PageBuilder::PageBuilder() : page_(std::make_unique<QWidget>()), content_(made_in<QWidget>(*page_)) {
    auto* const across = std::make_unique<QHBoxLayout>(page_.get()).release();
    across->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
    across->addStretch(1);
    across->addWidget(content_, 0);
    across->addStretch(1);
    content_->setMinimumWidth(kWidth);
    content_->setMaximumWidth(kWidth);
    column_ = std::make_unique<QVBoxLayout>(content_).release();
    column_->setSpacing(kGap);
    column_->addStretch(1);
}

QLabel& PageBuilder::label(const QString& text, const char* kind) {
    auto& made = *made_in<QLabel>(*content_, text);
    made.setObjectName(QLatin1String(kind));
    made.setTextFormat(Qt::PlainText);
    made.setWordWrap(true);
    column_->addWidget(&made);
    return made;
}

void PageBuilder::where(const View& view) {
    if (view.number > 0) {
        const QString place = StudyWords::tr("Run %1 of %2").arg(view.number).arg(view.total);
        label(place + QStringLiteral(" \u00b7 ") + view.application, "where");
    }
}

void PageBuilder::title(const QString& text) {
    page_->setAccessibleName(text);
    label(text, "title");
}

void PageBuilder::text(const QString& text) {
    label(text, "text");
}

void PageBuilder::note(const QString& text) {
    if (!text.isEmpty()) {
        label(text, "note");
    }
}

void PageBuilder::ends(const QString& left, const QString& right) {
    auto* const row = std::make_unique<QHBoxLayout>().release();
    column_->addLayout(row);
    for (const QString& end : {left, right}) {
        QLabel& made = label(end, "quiet");
        column_->removeWidget(&made);
        row->addWidget(&made);
        made.setAlignment(end == left ? Qt::AlignLeft : Qt::AlignRight);
    }
}

QPushButton& PageBuilder::button(const QString& text, const char* kind, const std::function<void()>& act) {
    if (buttons_ == nullptr) {
        auto* const row = std::make_unique<QHBoxLayout>().release();
        row->setSpacing(kGap);
        row->setAlignment(Qt::AlignLeft);
        column_->addLayout(row);
        buttons_ = row;
    }
    auto& made = *made_in<QPushButton>(*content_, text);
    made.setObjectName(QLatin1String(kind));
    made.setAutoDefault(true);
    QObject::connect(&made, &QPushButton::clicked, &made, act);
    buttons_->addWidget(&made);
    return made;
}

QPushButton& PageBuilder::main_button(const QString& text, const std::function<void()>& act) {
    QPushButton& made = button(text, "main", act);
    made.setDefault(true);
    begin_with(made);
    return made;
}

QPushButton& PageBuilder::other_button(const QString& text, const std::function<void()>& act) {
    QPushButton& made = button(text, "other", act);
    if (page_->focusProxy() == nullptr) {
        begin_with(made);
    }
    return made;
}

void PageBuilder::progress(std::size_t behind, std::size_t total) {
    column_->addStretch(1);
    const QString words = StudyWords::tr("%1 of %2 runs done").arg(behind).arg(total);
    auto& bar = *made_in<QProgressBar>(*content_);
    bar.setRange(0, static_cast<int>(total));
    bar.setValue(static_cast<int>(behind));
    bar.setTextVisible(false);
    bar.setAccessibleName(words);
    column_->addWidget(&bar);
    label(words, "quiet");
}

std::unique_ptr<QWidget> PageBuilder::finished() {
    column_->addStretch(1);
    return std::move(page_);
}

}  // namespace happe::study
