// SPDX-License-Identifier: GPL-2.0-or-later
// What KWin runs for happe-indicator: it tells which window is active. Plasma 5 and 6 have different names for it.
// The pid of an X11 window is what its program claims, so this reports the window's number: the X server knows its
// owner.
function tell(window) {
    const x11 = window && window.windowId;
    callDBus("org.happe.Focus1", "/org/happe/Focus1", "org.happe.Focus1", x11 ? "FocusX11" : "Focus",
             String(x11 || (window ? window.pid : 0)), String(window ? window.resourceClass : ""));
}
// KWin activates no window before each one, and can activate many at once. It tells of the last one when it is idle,
// because a bus allows a program a limited number of calls without an answer.
const idle = new QTimer();
idle.singleShot = true;
idle.timeout.connect(() => tell(workspace.activeWindow || workspace.activeClient));
(workspace.windowActivated || workspace.clientActivated).connect(() => idle.start());
idle.start();
