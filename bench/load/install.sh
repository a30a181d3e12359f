#!/usr/bin/env bash
# Installs the public load tools below bench/load/.work (2 GB, once): aiperf and guidellm from PyPI,
# the Python files of vLLM (its client needs no engine, but the package has no other form), and the
# data set library that SGLang's Python client imports. SGLang itself is the one of
# test/real/install.sh, which must have run.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
real=$here/../../test/real/.work
work=$here/.work
uv=$real/tools/bin/uv
# Byte code is part of an installation: without it every start compiles for half a minute.
unset PYTHONDONTWRITEBYTECODE
mkdir -p "$work"

for tool in aiperf==0.13.0 guidellm==0.8.1; do
  folder=$work/${tool%%==*}
  [ -x "$folder/bin/${tool%%==*}" ] && continue
  "${PYTHON:-python3.11}" -m venv "$folder"
  "$uv" pip install --quiet --compile-bytecode --python "$folder/bin/python" "$tool"
done

if [ ! -d "$work/sglang-extras/datasets" ]; then
  "$uv" pip install --quiet --no-deps --compile-bytecode --python "$real/sglang/bin/python" \
    --target "$work/sglang-extras" \
    datasets==5.2.0 pyarrow==26.0.1 pandas==3.1.1 xxhash==4.1.0 multiprocess==0.70.19 dill==0.4.1
fi

if [ ! -d "$work/vllm/vllm" ]; then
  "${PYTHON:-python3.11}" -m pip download --quiet --no-deps --dest "$work/vllm-wheel" vllm==0.33.0
  "$real/sglang/bin/python" - "$work/vllm-wheel" "$work/vllm.part" <<'PYTHON'
import pathlib, sys, zipfile
wheel = zipfile.ZipFile(next(pathlib.Path(sys.argv[1]).glob("*.whl")))
wheel.extractall(sys.argv[2], [n for n in wheel.namelist() if n.endswith((".py", ".json", "METADATA"))])
PYTHON
  "$uv" pip install --quiet --no-deps --compile-bytecode --python "$real/sglang/bin/python" \
    --target "$work/vllm.part" cbor2==6.3.0 cachetools==8.0.2 py-cpuinfo==9.0.0 openai==3.57.0
  rm -rf "$work/vllm-wheel" "$work/vllm"
  mv "$work/vllm.part" "$work/vllm"
fi
