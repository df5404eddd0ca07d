// SPDX-License-Identifier: GPL-2.0-or-later
// HAPPE's behaviour on mains, for the card of settings: two boxes show happed's state and change the configuration.
#pragma once

#include "ui/owner/owner.h"
#include "ui/owner/settings/configuration_change.h"

#include <QCheckBox>
#include <QWidget>

namespace happe::ui {

class MainsSettings final : public QWidget {
    Q_OBJECT

public:
    MainsSettings(Owner& owner, QWidget* parent);

signals:
    // A message for the user about a change: why somebody refused it, or nothing.
    void told(const QString& what);

private:
    void change(QCheckBox& box, const QString& option);
    void update_all();

    Owner& owner_;
    ConfigurationChange change_;
    // Qt owns these: each belongs to its parent.
    QCheckBox* govern_;
    QCheckBox* own_profiles_;
    QCheckBox* focused_ = nullptr;   // the box that had the keyboard before a change took it
    const QWidget* next_ = nullptr;  // the widget that got it then
};

}  // namespace happe::ui
