// SPDX-License-Identifier: GPL-2.0-or-later
// The dialog in which the owner chooses the two keys by pressing them.
#pragma once

#include "ui/owner/key_change.h"
#include "ui/owner/owner.h"

#include <QDialog>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QTimer>
#include <array>

class QGridLayout;

namespace happe::ui {

class KeyDialog final : public QDialog {
    Q_OBJECT

public:
    KeyDialog(Owner& owner, QWidget* parent);

    // Stops waiting for a key, or closes the dialog. Does neither while a program sets the keys.
    void reject() override;

protected:
    bool event(QEvent* event) override;

private:
    struct Row {
        Key key;
        QLabel* name;
        QPushButton* press;
        QString chosen;  // empty: the present key stays
    };

    Row make_row(Key key);
    void lay_out();
    void connect_all();
    void press(Row& row);
    void learned(const QString& key);
    void stop(const QString& why);
    void apply();
    void update_all();
    [[nodiscard]] QString present(const Row& row) const;
    [[nodiscard]] QString wanted(const Row& row) const;

    Owner& owner_;
    KeySearch search_;
    ConfigurationChange change_;
    // Qt owns these: each belongs to its parent.
    std::array<Row, 2> rows_;
    QProgressBar* left_;
    QLabel* said_;
    QPushButton* apply_;
    QPushButton* close_;
    QTimer second_;
    Row* pressing_ = nullptr;  // the row whose key the person must press now
};

}  // namespace happe::ui
