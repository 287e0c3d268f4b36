#!/usr/bin/env bash
# Prints a hash of files and folders, and of the programs that tests are run with. A test
# that reads it from the environment is run anew when it changes: the go command sees that,
# but not what the programs read that a test starts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
{
	find "$@" -name node_modules -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
	for program in chromium google-chrome node nginx pgbouncer prometheus promtool python3 systemd-analyze \
		/usr/lib/postgresql/*/bin/postgres; do
		if path=$(command -v "$program"); then
			stat -L -c '%n %s %Y' "$path"
		fi
	done
} | sha256sum | cut -c1-32
