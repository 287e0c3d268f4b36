#!/usr/bin/env bash
# Installs the Azure SDK for JavaScript into node_modules, as package-lock.json
# has it, unless that was done. Node.js itself is not installed by this script.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

say() { printf 'prepare: %s\n' "$*"; }
fail() {
	printf 'prepare: %s\n' "$*" >&2
	exit 1
}

command -v node >/dev/null && command -v npm >/dev/null || fail 'node or npm is missing: install Node.js 20 or later'
node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' || fail "Node.js $(node --version) is too old: install 20 or later"
say "node $(node --version)"
if [[ ! node_modules/.package-lock.json -nt package-lock.json ]]; then
	say 'installing the Azure SDK for JavaScript'
	npm ci --loglevel=error
fi
