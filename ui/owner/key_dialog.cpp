// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/key_dialog.h"

#include "ui/owner/owner_words.h"
#include "ui/owner/widgets.h"

#include <QEvent>
#include <QGridLayout>
#include <QHBoxLayout>
#include <algorithm>

// NOLINTBEGIN(cppcoreguidelines-owning-memory): a widget belongs to its parent, or to the layout that gives it one
namespace happe::ui {

KeyDialog::KeyDialog(Owner& owner, QWidget* parent)
    : QDialog(parent),
      owner_(owner),
      rows_{make_row(Key::Performance), make_row(Key::Power)},
      left_(new QProgressBar(this)),
      said_(text_label(this)),
      apply_(new QPushButton(QStringLiteral("&Apply"), this)),
      close_(new QPushButton(QStringLiteral("&Close"), this)) {
    setWindowTitle(QStringLiteral("HAPPE's keys"));
    left_->setRange(0, static_cast<int>(KeySearch::kWait.count()));
    left_->setFormat(QStringLiteral("%v s"));
    left_->setAccessibleName(QStringLiteral("Seconds left"));
    left_->hide();
    second_.setInterval(std::chrono::seconds{1});
    lay_out();
    connect_all();
    say(*said_, QStringLiteral("Choose keys that type no text and that you use for nothing else."));
    update_all();
    rows_.front().press->setFocus();
}

KeyDialog::Row KeyDialog::make_row(Key key) {
    return {.key = key, .name = new QLabel(this), .press = new QPushButton(this), .chosen = {}};
}

void KeyDialog::lay_out() {
    auto* const all = new QVBoxLayout(this);
    auto* const keys = new QGridLayout;
    keys->setColumnStretch(1, 1);
    for (const Row& row : rows_) {
        const int at = keys->rowCount();
        keys->addWidget(new QLabel(OwnerWords::key(row.key), this), at, 0);
        keys->addWidget(row.name, at, 1);
        keys->addWidget(row.press, at, 2);
        row.press->setAutoDefault(false);
    }
    auto* const end = new QHBoxLayout;
    end->addStretch(1);
    end->addWidget(apply_);
    end->addWidget(close_);
    close_->setAutoDefault(false);
    constexpr int kLineLetters = 60;
    said_->setMinimumWidth(kLineLetters * said_->fontMetrics().averageCharWidth());
    all->addLayout(keys);
    all->addWidget(said_, 1);
    all->addWidget(left_);
    all->addLayout(end);
}

void KeyDialog::connect_all() {
    connect(&owner_, &Owner::changed, this, &KeyDialog::update_all);
    for (Row& row : rows_) {
        connect(row.press, &QPushButton::clicked, this, [this, &row] {
            if (pressing_ != nullptr) {
                stop({});
            } else {
                press(row);
            }
        });
    }
    connect(&search_, &KeySearch::learned, this, &KeyDialog::learned);
    connect(&search_, &KeySearch::not_learned, this, &KeyDialog::stop);
    connect(&change_, &ConfigurationChange::applied, this, [this] {
        say(*said_, QStringLiteral("The keys are set."));
        update_all();
        close_->setFocus();  // meanwhile no button could take the keyboard
    });
    connect(&change_, &ConfigurationChange::not_applied, this, [this](const QString& why) {
        say(*said_, why);
        update_all();
        apply_->setFocus();
    });
    connect(&second_, &QTimer::timeout, this, [this] { left_->setValue(std::max(left_->value() - 1, 0)); });
    connect(apply_, &QPushButton::clicked, this, &KeyDialog::apply);
    connect(close_, &QPushButton::clicked, this, [this] {
        stop({});
        reject();
    });
}

void KeyDialog::press(Row& row) {
    pressing_ = &row;
    left_->setValue(left_->maximum());
    second_.start();
    say(*said_, QStringLiteral("Press the key for: %1.").arg(OwnerWords::key(row.key)));
    update_all();
    search_.learn();
}

void KeyDialog::learned(const QString& key) {
    const bool taken =
        std::ranges::any_of(rows_, [&](const Row& row) { return &row != pressing_ && wanted(row) == key; });
    if (taken) {
        stop(QStringLiteral("%1 is the other key. The two keys must differ.").arg(key_in_words(key)));
        return;
    }
    pressing_->chosen = key;
    stop(QStringLiteral("Chosen: %1. \"Apply\" sets it.").arg(key_in_words(key)));
}

void KeyDialog::stop(const QString& why) {
    search_.cancel();
    second_.stop();
    pressing_ = nullptr;
    say(*said_, why);
    update_all();
}

void KeyDialog::apply() {
    change_.apply({QStringLiteral("keys"), QStringLiteral("set"), QStringLiteral("--performance"),
                   wanted(rows_.front()), QStringLiteral("--power"), wanted(rows_.back())});
    if (change_.applies()) {
        say(*said_, QStringLiteral("An administrator's password may be needed."));
    }
    update_all();
}

void KeyDialog::reject() {
    if (pressing_ != nullptr) {
        stop({});
    } else if (!change_.applies()) {
        QDialog::reject();
    }
}

// A password dialog takes the keyboard from this window. happed starts its wait only after the password, so the time
// begins again.
bool KeyDialog::event(QEvent* event) {
    if (event->type() == QEvent::WindowActivate && pressing_ != nullptr) {
        left_->setValue(left_->maximum());
    }
    return QDialog::event(event);
}

QString KeyDialog::present(const Row& row) const {
    return row.key == Key::Performance ? owner_.state().performance_key : owner_.state().power_key;
}

QString KeyDialog::wanted(const Row& row) const {
    return row.chosen.isEmpty() ? present(row) : row.chosen;
}

void KeyDialog::update_all() {
    const bool ready = owner_.state().there && !change_.applies();
    for (Row& row : rows_) {
        const bool waits = pressing_ == &row;
        const QString change =
            row.key == Key::Performance ? QStringLiteral("&Press another key") : QStringLiteral("Press an&other key");
        row.name->setText(key_in_words(wanted(row)));
        row.press->setText(waits ? QStringLiteral("&Stop") : change);
        row.press->setAccessibleName(OwnerWords::key(row.key) + QStringLiteral(": ") +
                                     row.press->text().remove(QLatin1Char('&')));
        row.press->setEnabled(ready && (waits || pressing_ == nullptr));
    }
    const bool differs = std::ranges::any_of(rows_, [this](const Row& row) { return wanted(row) != present(row); });
    left_->setVisible(pressing_ != nullptr);
    apply_->setEnabled(ready && differs && pressing_ == nullptr);
    close_->setEnabled(!change_.applies());
    adjustSize();  // to the text
}

}  // namespace happe::ui
// NOLINTEND(cppcoreguidelines-owning-memory)
