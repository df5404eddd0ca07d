// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/settings/mains_settings.h"

#include <QVBoxLayout>
#include <utility>

// NOLINTBEGIN(cppcoreguidelines-owning-memory): a widget belongs to its parent, or to the layout that gives it one
namespace happe::ui {

MainsSettings::MainsSettings(Owner& owner, QWidget* parent)
    : QWidget(parent),
      owner_(owner),
      govern_(new QCheckBox(QStringLiteral("Govern on &mains, too"), this)),
      own_profiles_(new QCheckBox(QStringLiteral("&Learn separate profiles on mains"), this)) {
    auto* const all = new QVBoxLayout(this);
    all->setContentsMargins(0, 0, 0, 0);
    all->addWidget(govern_);
    all->addWidget(own_profiles_);
    setFocusProxy(govern_);
    setFocusPolicy(govern_->focusPolicy());  // without one Qt gives it no place in the order of the keyboard
    connect(&owner_, &Owner::changed, this, &MainsSettings::update_all);
    connect(govern_, &QCheckBox::toggled, this, [this](bool wanted) {  // a screen reader toggles, and does not click
        if (wanted != owner_.state().governs_on_mains) {
            change(*govern_, QStringLiteral("--govern"));
        }
    });
    connect(own_profiles_, &QCheckBox::toggled, this, [this](bool wanted) {
        if (wanted != owner_.state().own_profiles_on_mains) {
            change(*own_profiles_, QStringLiteral("--own-profiles"));
        }
    });
    connect(&change_, &ConfigurationChange::applied, this, [this] { emit told({}); });  // happed's new state follows
    connect(&change_, &ConfigurationChange::not_applied, this, [this](const QString& why) {
        emit told(why);
        update_all();
    });
    update_all();
}

void MainsSettings::change(QCheckBox& box, const QString& option) {
    const bool focused = box.hasFocus();
    change_.apply({QStringLiteral("mains"), QStringLiteral("set"), option,
                   box.isChecked() ? QStringLiteral("true") : QStringLiteral("false")});
    if (change_.applies()) {
        emit told(QStringLiteral("An administrator's password may be needed."));
    }
    update_all();
    if (focused && change_.applies()) {
        focused_ = &box;
        next_ = window()->focusWidget();
    }
}

// While a change is under way, the boxes show what the user wants.
void MainsSettings::update_all() {
    const OwnerState& state = owner_.state();
    const bool ready = state.there && !change_.applies();
    govern_->setEnabled(ready);
    own_profiles_->setEnabled(ready && state.governs_on_mains);
    if (!change_.applies()) {
        govern_->setChecked(state.governs_on_mains);
        own_profiles_->setChecked(state.own_profiles_on_mains);
    }
    if (QCheckBox* const box = ready ? std::exchange(focused_, nullptr) : nullptr;
        box != nullptr && window()->focusWidget() == next_) {
        box->setFocus();
    }
}

}  // namespace happe::ui
// NOLINTEND(cppcoreguidelines-owning-memory)
