#!/usr/bin/env bash
# Installs a real SGLang 0.5.23 (CPU) and a llama-server below test/real/.work, once (6.7 GB, a minute
# or two; Python 3.11, glibc 2.34 or newer). Again after a requirements file changed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$here/.work
# uv and pip must write byte code: without it every start of SGLang compiles for half a minute.
unset PYTHONDONTWRITEBYTECODE
python=${PYTHON:-python3.11}
mkdir -p "$work"

# Installs requirements file $1 into environment $2 unless it is there already.
install_environment() {
  local stamp=$work/$2.installed
  cmp -s "$1" "$stamp" && return
  rm -rf "${work:?}/$2" "$stamp"
  "$python" -m venv "$work/$2"
  if [ "$2" = tools ]; then
    "$work/tools/bin/pip" install --quiet --no-deps -r "$1"
  else
    "$work/tools/bin/uv" pip install --quiet --no-deps --compile-bytecode \
      --python "$work/$2/bin/python" -r "$1"
  fi
  cp "$1" "$stamp"
}

install_environment "$here/tools-requirements.txt" tools
install_environment "$here/sglang-requirements.txt" sglang

if ! cmp -s "$here/make_models.py" "$work/models.made"; then
  "$work/tools/bin/python" "$here/make_models.py" "$work/models"
  cp "$here/make_models.py" "$work/models.made"
fi
