// SPDX-License-Identifier: GPL-2.0-or-later
// KWin runs this script for happe-indicator. It reports which window is active. Plasma 5 and 6 have different names for
// it.
// The pid of an X11 window is what its program claims, so this reports the window's number: the X server knows its
// owner. Plasma 6 gives no number, so there the X server says which of its windows is active.
const tell = (method, ...words) => callDBus("org.happe.Focus1", "/org/happe/Focus1", "org.happe.Focus1", method, ...words);
function tellOf(window) {
    const id = String(window ? window.resourceClass : "");
    if (window && window.windowId)
        tell("FocusX11", String(window.windowId), id);
    else if (String(window).startsWith("KWin::X11Window"))
        tell("FocusActiveX11", id);
    else
        tell("Focus", String(window ? window.pid : 0), id);
}
// KWin activates no window before each one, and can activate many at once. It tells of the last one when it is idle,
// because a bus allows a program a limited number of calls without an answer.
const idle = new QTimer();
idle.singleShot = true;
idle.timeout.connect(() => tellOf(workspace.activeWindow || workspace.activeClient));
(workspace.windowActivated || workspace.clientActivated).connect(() => idle.start());
idle.start();
