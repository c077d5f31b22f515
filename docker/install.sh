#!/bin/sh
# The two steps of an image, with the pip of PYTHON (python by default): `install.sh dependencies cpu|cuda` installs the
# versions of docker/requirements-*.txt, `install.sh package` the package from the source around this file.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python}
case "${1:-}" in
  dependencies) "$python" -m pip install --no-cache-dir --disable-pip-version-check -r "$here/requirements-${2:?cpu or cuda}.txt" ;;
  package) "$python" -m pip install --no-cache-dir --disable-pip-version-check --no-deps "$here/.." ;;
  *) echo "install.sh dependencies cpu|cuda, or install.sh package" >&2; exit 2 ;;
esac
