#!/usr/bin/env bash
# Installs oidc-provider into node_modules, as package-lock.json has it, unless that was
# done. Node.js itself is not installed by this script: without it, the tests that need
# this issuer say that they are left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

say() { printf 'prepare: %s\n' "$*"; }

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	say 'node or npm is missing (Node.js 20 or later): tests with a real issuer are left out'
	exit 0
fi
if [[ ! node_modules/.package-lock.json -nt package-lock.json ]]; then
	say 'installing oidc-provider'
	npm ci --loglevel=error
fi
