#!/bin/sh
# The steps of an image without an engine: a copy of what .dockerignore lets through, an environment of its own in
# FOLDER, both steps of install.sh, and the entry point in FOLDER/data.
#   docker/without_docker.sh FOLDER [cpu|cuda] [ARGUMENTS OF jaxci...]
# PYTHON names the interpreter (python3 by default), VENV_OPTIONS what else the environment is made with.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:?a folder}
image=${2:-cpu}
[ $# -ge 2 ] && shift 2 || shift
[ $# -gt 0 ] || set -- --help
mkdir -p "$folder/src" "$folder/data"
folder=$(cd "$folder" && pwd)
sed -n 's/^!//p' "$root/.dockerignore" | while read -r kept; do
  mkdir -p "$folder/src/$(dirname "$kept")"
  cp -R "$root/$kept" "$folder/src/$(dirname "$kept")/"
done
[ -x "$folder/env/bin/python" ] || "${PYTHON:-python3}" -m venv ${VENV_OPTIONS:-} "$folder/env"
PYTHON="$folder/env/bin/python" sh "$folder/src/docker/install.sh" dependencies "$image"
PYTHON="$folder/env/bin/python" sh "$folder/src/docker/install.sh" package
cd "$folder/data"
exec "$folder/env/bin/jaxci" "$@"
