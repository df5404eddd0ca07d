// SPDX-License-Identifier: GPL-2.0-or-later
// A program that the tests put under the overlay: a full-screen window, black, white or noise, that reports clicks.
//   usage: happe-ui-window black|white|noise [small]
//          happe-ui-window selection: prints the selected text of another program
#include <QClipboard>
#include <QFileInfo>
#include <QFocusEvent>
#include <QGuiApplication>
#include <QImage>
#include <QMouseEvent>
#include <QPainter>
#include <QRasterWindow>
#include <cstdio>
#include <random>

namespace {

class Window final : public QRasterWindow {
public:
    explicit Window(QString backdrop) : backdrop_(std::move(backdrop)) {}

protected:
    void paintEvent(QPaintEvent* /*event*/) override {
        QPainter painter(this);
        painter.drawImage(QRect(QPoint(), size()), picture());
        if (isExposed() && painted_++ == 0) {
            tell("shown");
        }
    }
    void mousePressEvent(QMouseEvent* event) override {
        tell(QStringLiteral("click %1 %2").arg(event->position().x()).arg(event->position().y()));
    }
    void focusInEvent(QFocusEvent* /*event*/) override { tell("focus"); }
    void focusOutEvent(QFocusEvent* /*event*/) override { tell("no focus"); }

private:
    static void tell(const QString& what) {
        std::puts(qPrintable(what));
        std::fflush(stdout);
    }

    [[nodiscard]] QImage picture() const {
        QImage image(size(), QImage::Format_RGB32);
        image.fill(backdrop_ == "white" ? Qt::white : Qt::black);
        std::mt19937 random(7);
        for (int y = 0; backdrop_ == "noise" && y < image.height(); ++y) {
            for (int x = 0; x < image.width(); ++x) {
                image.setPixel(x, y, 0xFF000000U | (random() & 0xFFFFFFU));
            }
        }
        return image;
    }

    QString backdrop_;
    int painted_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    const QGuiApplication application(argc, argv);
    QGuiApplication::setDesktopFileName(QFileInfo(QCoreApplication::arguments().value(0)).fileName());  // its app id
    if (QCoreApplication::arguments().value(1) == "selection") {
        std::puts(qPrintable(QGuiApplication::clipboard()->text(QClipboard::Selection)));
        return 0;
    }
    Window window(QCoreApplication::arguments().value(1));
    window.setTitle(QStringLiteral("game"));
    if (QCoreApplication::arguments().value(2) == "small") {
        window.resize(300, 200);
        window.show();
    } else {
        window.showFullScreen();
    }
    return QGuiApplication::exec();
}
