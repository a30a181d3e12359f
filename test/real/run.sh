#!/usr/bin/env bash
# npm run test:real: the checks on a real SGLang and a real llama-server (CPU). Installs them first.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bash "$here/install.sh"
cd "$here/../.."
npm run --silent build
npx vitest run --config test/real/vitest.config.ts "$@"
