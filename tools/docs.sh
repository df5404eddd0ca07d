#!/bin/sh
# Makes a site of the documents, build/docs/html: the pages in docs/, and the reference that the programs print themselves.
#   usage: tools/docs.sh [FOLDER]
set -eu
cd "$(dirname "$0")/.."
folder=${1:-build/docs}
PYTHONPATH=docs/site:tools build/venv/bin/python -m happe_docs build/bin "$folder/source"
build/venv/bin/python -m sphinx -q -b html -W --keep-going -c docs/site -d "$folder/doctrees" "$folder/source" "$folder/html"
echo "docs: $folder/html/index.html"
