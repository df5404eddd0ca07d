#!/bin/sh
# Writes a program's manual page from its --help and --version, for debian/rules. --help-all has all commands' options.
#   usage: packaging/manual.sh ROOT PROGRAM SECTION [--help-all]      writes ROOT/usr/share/man/manSECTION/NAME.SECTION
set -eu
folder=$1/usr/share/man/man$3 program=$2 section=$3 help=${4---help}
name=${program##*/}
about=$("$program" --help | sed -n "s/^ *$name - \([^.]*\).*/\1/p")
mkdir -p "$folder"
help2man --no-info --section="$section" --help-option="$help" --name="$about" --output="$folder/$name.$section" "$program"
