#!/usr/bin/env bash
# Installs fastify into node_modules, as package-lock.json has it, unless that was done.
# Node.js itself is not installed by this script.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

command -v node >/dev/null && command -v npm >/dev/null || {
	echo 'prepare: node or npm is missing: install Node.js 20 or later' >&2
	exit 1
}
if [[ ! node_modules/.package-lock.json -nt package-lock.json ]]; then
	echo 'prepare: installing fastify'
	npm ci --loglevel=error
fi
