#!/bin/sh
# Copies htmx and uPlot, which the study server's pages load, from the Python packages that carry them.
#   usage: tools/served.sh SITE FOLDER      SITE has the packages
set -eu
mkdir -p "$2"
install -m 644 "$1/django_htmx/static/django_htmx/htmx-2.min.js" "$2/htmx.min.js"
uplot=$1/metaflow_extensions/card_uplot/plugins/cards/uplot/uplot
install -m 644 "$uplot/uPlot.iife.min.js" "$2/uplot.min.js"
install -m 644 "$uplot/uPlot.min.css" "$2/uplot.min.css"
