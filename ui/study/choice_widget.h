// SPDX-License-Identifier: GPL-2.0-or-later
// Lets the participant choose one of several answers: by pointer, by arrows, or by the key of its number.
#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>
#include <vector>

class QButtonGroup;
class QKeyEvent;

namespace happe::study {

class ChoiceWidget final : public QWidget {
    Q_OBJECT

public:
    enum class Shape { Row, Column };

    // `first`: the number of the first answer.
    ChoiceWidget(Shape shape, const QStringList& answers, int first, QWidget* parent);

    [[nodiscard]] int chosen() const;  // counted from 0; -1: none
    void describe(int answer, const QString& name);

signals:
    void changed();
    void confirmed();  // Enter, on an answer

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    void choose(int answer);

    QButtonGroup* group_;
    int first_;
};

}  // namespace happe::study
