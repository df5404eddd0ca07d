// SPDX-License-Identifier: GPL-2.0-or-later
// Where the owner presses the two keys that shall teach, and has them set.
#pragma once

#include "ui/owner/key_change.h"
#include "ui/owner/owner.h"

#include <QCheckBox>
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

    // Stops waiting for a key, else closes. While a program sets the keys, it does neither.
    void reject() override;

protected:
    bool event(QEvent* event) override;

private:
    struct Row {
        Key key;
        QLabel* name;
        QPushButton* press;
        QString chosen;  // empty: the present one stays
    };

    Row make_row(Key key);
    void lay_out();
    void connect_all();
    void press(Row& row);
    void learned(const QString& key);
    void stop(const QString& why);
    void apply();
    void update_all();
    void update_shortcuts();
    [[nodiscard]] QString present(const Row& row) const;
    [[nodiscard]] QString wanted(const Row& row) const;

    Owner& owner_;
    KeyChange change_;
    // Qt's: each belongs to its parent.
    std::array<Row, 2> rows_;
    QCheckBox* shortcuts_;
    QLabel* given_;
    QProgressBar* left_;
    QLabel* said_;
    QPushButton* apply_;
    QPushButton* close_;
    QTimer second_;
    Row* pressing_ = nullptr;  // whose key somebody shall press now
};

}  // namespace happe::ui
