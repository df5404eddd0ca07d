#!/bin/sh
# Runs a build of packages, which has a home of its own, with the caller's ccache, if there is one.
#   usage: tools/with_ccache.sh COMMAND...
set -eu
if command -v ccache >/dev/null; then
    CCACHE_DIR=$(ccache --get-config cache_dir)
    export CCACHE_DIR CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
exec nice "$@"
