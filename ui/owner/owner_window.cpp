// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/owner_window.h"

#include "ui/overlay/overlay_words.h"
#include "ui/owner/desktop_entry.h"
#include "ui/owner/key_dialog.h"
#include "ui/owner/owner_words.h"
#include "ui/owner/widgets.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFile>
#include <QHBoxLayout>
#include <QIcon>
#include <QKeyEvent>
#include <QLabel>
#include <QLocale>
#include <QMessageBox>
#include <QProgressBar>
#include <QPushButton>
#include <QScreen>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <cmath>

// NOLINTBEGIN(cppcoreguidelines-owning-memory): a widget belongs to its parent, or to the layout that gives it one
namespace happe::ui {
namespace {

constexpr double kHeadline = 1.3;  // times the desktop's letters
constexpr int kLetters = 118;      // the length of a line across both columns, in widths of an n
constexpr QSize kRoom{16, 60};     // for a panel of the desktop and the window's title

}  // namespace

OwnerWindow::OwnerWindow(Owner& owner)
    : owner_(owner),
      doing_(text_label(this)),
      why_(text_label(this)),
      saving_(text_label(this)),
      charge_(new QProgressBar(this)),
      left_(text_label(this)),
      profiles_(new QComboBox(this)),
      chart_(new StepChart(this)),
      presses_(new PressList(this)),
      keys_(text_label(this)),
      pause_(new QPushButton(QStringLiteral("&Pause HAPPE"), this)),
      reset_(new QPushButton(QStringLiteral("F&orget this application…"), this)),
      change_keys_(new QPushButton(QStringLiteral("Change &keys…"), this)),
      autostart_(new QCheckBox(QStringLiteral("&Start the indicator with the session"), this)),
      extension_(new QPushButton(QStringLiteral("Enable HAPPE in &GNOME"), this)),
      said_(text_label(this)) {
    setWindowTitle(QStringLiteral("HAPPE"));
    QFont large = doing_->font();
    large.setPointSizeF(large.pointSizeF() * kHeadline);
    doing_->setFont(large);
    pause_->setCheckable(true);
    charge_->setTextVisible(false);
    charge_->setFixedHeight(fontMetrics().height() / 2);
    charge_->setAccessibleName(QStringLiteral("Battery"));
    profiles_->setAccessibleName(QStringLiteral("Application"));
    say(*said_, {});
    lay_out();
    connect_all();
    update_all();
    const int width = kLetters * fontMetrics().horizontalAdvance(QLatin1Char('n'));
    resize(QSize(width, sizeHint().height()).boundedTo(screen()->availableSize() - kRoom));
}

void OwnerWindow::lay_out() {
    auto* const all = new QVBoxLayout(this);
    auto* const columns = new QHBoxLayout;
    auto* const scrolled = new QScrollArea(this);  // its texts may be long
    auto* const left = new QVBoxLayout(new QWidget(scrolled));
    auto* const right = new QVBoxLayout;
    columns->setSpacing(2 * all->spacing());
    right->setSpacing(all->spacing());
    columns->addWidget(scrolled, 1);
    columns->addLayout(right, 1);
    all->addLayout(columns, 1);
    all->addWidget(said_);
    lay_out_now(*Card::add_to(*left, QStringLiteral("Now"), this));
    lay_out_settings(*Card::add_to(*left, QStringLiteral("Settings"), this));
    left->addStretch();
    left->setContentsMargins(0, 0, 0, 0);
    show_without_frame(*scrolled, *left->parentWidget());
    scrolled->setMinimumWidth(left->minimumSize().width() + scrolled->verticalScrollBar()->sizeHint().width());
    lay_out_profile(*Card::add_to(*right, QStringLiteral("What HAPPE has learned"), this, 1));
    Card::add_to(*right, QStringLiteral("The last key presses"), this)->addWidget(presses_);
    const QList<QWidget*> order{pause_,    change_keys_, autostart_, extension_,
                                profiles_, reset_,       chart_,     presses_->first()};
    for (qsizetype at = 1; at < order.size(); ++at) {
        setTabOrder(order[at - 1], order[at]);
    }
    pause_->setFocus();
}

void OwnerWindow::lay_out_now(QVBoxLayout& card) {
    for (QWidget* const part : std::initializer_list<QWidget*>{charge_, left_, doing_, why_, saving_}) {
        card.addWidget(part);
    }
    card.addWidget(pause_, 0, Qt::AlignTrailing);
}

void OwnerWindow::lay_out_settings(QVBoxLayout& card) {
    auto* const keys = new QHBoxLayout;
    keys->addWidget(keys_, 1);
    keys->addWidget(change_keys_);
    card.addLayout(keys);
    card.addWidget(autostart_);
    card.addWidget(extension_);
}

void OwnerWindow::lay_out_profile(QVBoxLayout& card) {
    auto* const application = new QHBoxLayout;
    auto* const name = new QLabel(QStringLiteral("&Application"), this);
    name->setBuddy(profiles_);
    application->addWidget(name);
    application->addWidget(profiles_, 1);
    application->addWidget(reset_);
    card.addLayout(application);
    card.addWidget(chart_, 1);
}

void OwnerWindow::connect_all() {
    connect(&owner_, &Owner::changed, this, &OwnerWindow::update_all);
    connect(&owner_, &Owner::refused, this,
            [this](const QString& why) { say(*said_, QStringLiteral("Refused: %1").arg(why)); });
    connect(&owner_, &Owner::counted, this, [this](const QString& key) {
        say(*said_, QStringLiteral("Counted: %1")
                        .arg(OwnerWords::key(key == QLatin1String("performance") ? Key::Performance : Key::Power)));
    });
    connect(change_keys_, &QPushButton::clicked, this, &OwnerWindow::change_keys);
    connect(pause_, &QPushButton::clicked, this, [this](bool wanted) {
        say(*said_, wanted ? QStringLiteral("HAPPE continues when this program ends, at the latest.") : QString());
        owner_.pause(wanted);
    });
    connect(presses_, &PressList::undo, this, [this](std::size_t row) {
        if (row < owner_.presses().size()) {
            owner_.undo(owner_.presses()[row]);
        }
    });
    connect(&owner_, &Owner::undone, this, [this](int presses, bool ended_early) {
        const QString told =
            counted(presses, QStringLiteral("press"), QStringLiteral("presses")) + QStringLiteral(" undone.");
        say(*said_, ended_early ? told + QLatin1Char(' ') + QStringLiteral("HAPPE cannot undo the older ones.") : told);
    });
    connect(reset_, &QPushButton::clicked, this, &OwnerWindow::reset);
    connect(autostart_, &QCheckBox::toggled, this, [this](bool wanted) {  // a screen reader toggles, and does not click
        if (wanted != owner_.autostart().value_or(false)) {
            owner_.set_autostart(wanted);
        }
    });
    connect(extension_, &QPushButton::clicked, this, [this] { owner_.enable_extension(); });
    connect(profiles_, &QComboBox::activated, this,
            [this](int) { owner_.choose(profiles_->currentData().toString()); });
}

void OwnerWindow::update_all() {
    const OwnerState& state = owner_.state();
    const OwnProfile& shown = owner_.shown();
    say(*doing_, OwnerWords::doing(state));
    say(*why_, OwnerWords::why(state, owner_.reasons()));
    say(*saving_, OwnerWords::saving(owner_.saving()));
    update_battery();
    say(*keys_, OwnerWords::keys(state));
    update_profiles();
    presses_->show_presses(owner_.presses());
    const bool served = state.work && shown.application == state.application;
    chart_->show_profile(shown, state.ladder_khz, owner_.presses(),
                         served ? std::optional(state.work->level) : std::nullopt);
    pause_->setChecked(owner_.paused());
    pause_->setText(owner_.paused() ? QStringLiteral("&Continue") : QStringLiteral("&Pause HAPPE"));
    change_keys_->setEnabled(state.there);
    reset_->setEnabled(!owner_.presses().empty());
    autostart_->setEnabled(owner_.autostart().has_value());
    extension_->setVisible(owner_.extension_is_off());
    autostart_->setChecked(owner_.autostart().value_or(false));
}

void OwnerWindow::update_battery() {
    const auto battery = owner_.state().state == QLatin1String("run") ? std::nullopt : owner_.battery();
    charge_->setVisible(battery && battery->charge);
    if (charge_->isVisibleTo(this)) {
        charge_->setValue(static_cast<int>(std::lround(*battery->charge * 100)));
    }
    say(*left_, battery ? OwnerWords::battery(*battery) : QString());
}

void OwnerWindow::update_profiles() {
    QStringList names;
    for (const OwnProfile& profile : owner_.profiles()) {
        names << profile.application;
    }
    if (!owner_.shown().application.isEmpty() && !names.contains(owner_.shown().application)) {
        names.prepend(owner_.shown().application);
    }
    QStringList before;
    for (int row = 0; row < profiles_->count(); ++row) {
        before << profiles_->itemData(row).toString();
    }
    const QSignalBlocker quiet(profiles_);
    if (names != before) {
        profiles_->clear();
        for (const QString& name : names) {
            add_profile(name);
        }
    }
    profiles_->setCurrentIndex(profiles_->findData(owner_.shown().application));
}

// Shows the desktop's name of the application, followed by "/mains" if it has that.
void OwnerWindow::add_profile(const QString& application) {
    const auto entry = desktop_entry(application);
    if (!entry) {
        profiles_->addItem(application, application);
        return;
    }
    const QIcon icon = QFile::exists(entry->icon) ? QIcon(entry->icon) : QIcon::fromTheme(entry->icon);
    const qsizetype more = application.indexOf(QLatin1Char('/'));
    profiles_->addItem(icon, more < 0 ? entry->name : entry->name + application.sliced(more), application);
}

// The window may show another application before the answer.
void OwnerWindow::reset() {
    const QString asked = owner_.shown().application;
    const QString question =
        QStringLiteral("Forget what HAPPE has learned for %1? It starts again at the lowest speed.").arg(asked);
    QMessageBox box(QMessageBox::Question, QStringLiteral("HAPPE"), question, QMessageBox::NoButton, this);
    const QPushButton* const forget = box.addButton(QStringLiteral("&Forget"), QMessageBox::AcceptRole);
    box.setDefaultButton(box.addButton(QStringLiteral("&Keep"), QMessageBox::RejectRole));
    box.exec();
    if (box.clickedButton() == forget) {
        owner_.reset(asked);
    }
}

void OwnerWindow::change_keys() {
    KeyDialog dialog(owner_, this);
    dialog.exec();
}

void OwnerWindow::showEvent(QShowEvent* event) {
    owner_.watch(true);
    QWidget::showEvent(event);
}

// Then nobody sees which application they chose, and the tray's menu would undo that one's press.
void OwnerWindow::hideEvent(QHideEvent* event) {
    owner_.watch(false);
    if (!event->spontaneous()) {  // the window is closed, and not only minimised
        owner_.choose({});
    }
    QWidget::hideEvent(event);
}

void OwnerWindow::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape) {
        close();
    } else {
        QWidget::keyPressEvent(event);
    }
}

}  // namespace happe::ui
// NOLINTEND(cppcoreguidelines-owning-memory)
