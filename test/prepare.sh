#!/usr/bin/env bash
# Provides what building and testing Portico needs beside the Go modules, and
# says what it does about each thing that is missing:
#
#   go     at least the version that go.mod names; not installed by this script
#   gcc    the race detector needs cgo
#   curl   the demonstration's printed lines are run as they are
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf 'prepare: %s\n' "$*"; }
fail() {
	printf 'prepare: %s\n' "$*" >&2
	exit 1
}

command -v go >/dev/null || fail "go is missing: install Go $(sed -n 's/^go //p' go.mod) or later"
go list -m >/dev/null || fail "the go command cannot build this module, see above"
say "$(go version)"

missing=()
command -v gcc >/dev/null || missing+=(gcc libc6-dev)
command -v curl >/dev/null || missing+=(curl)
if ((${#missing[@]} > 0)); then
	command -v apt-get >/dev/null || fail "missing, and no apt-get to install them with: ${missing[*]}"
	((EUID == 0)) || fail "missing, install them as root: apt-get install ${missing[*]}"
	say "installing ${missing[*]}"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi
