// SPDX-License-Identifier: GPL-2.0-or-later
// The window for the owner of the laptop: what HAPPE does and why, what it has learned, and how to change that.
#pragma once

#include "ui/owner/owner.h"
#include "ui/owner/press_list.h"
#include "ui/owner/step_chart.h"

#include <QWidget>

class QCheckBox;
class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;
class QVBoxLayout;

namespace happe::ui {

class OwnerWindow final : public QWidget {
    Q_OBJECT

public:
    explicit OwnerWindow(Owner& owner);

protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void lay_out();
    void lay_out_now(QVBoxLayout& card);
    void lay_out_settings(QVBoxLayout& card);
    void lay_out_profile(QVBoxLayout& card);
    void connect_all();
    void update_all();
    void update_battery();
    void update_profiles();
    void add_profile(const QString& application);
    void reset();
    void change_keys();

    // Qt owns these: each belongs to its parent.
    Owner& owner_;
    QLabel* doing_;
    QLabel* why_;
    QLabel* saving_;
    QProgressBar* charge_;
    QLabel* left_;  // the battery's remaining time, in words
    QComboBox* profiles_;
    StepChart* chart_;
    PressList* presses_;
    QLabel* keys_;
    QPushButton* pause_;
    QPushButton* reset_;
    QPushButton* change_keys_;
    QCheckBox* autostart_;
    QPushButton* extension_;
    QLabel* said_;
};

}  // namespace happe::ui
