#!/usr/bin/env bash
# Looks the code's dependencies up in the Go vulnerability database. A finding
# fails. Where the database cannot be reached there is nothing to judge by: that
# is said loudly and is no failure, so that the tests can run without a network.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

output=$(mktemp)
trap 'rm -f "$output"' EXIT
status=0
timeout 180 .bin/govulncheck ./... >"$output" 2>&1 || status=$?
cat "$output"
if ((status == 0)); then
	exit 0
fi
# 3 says that vulnerabilities were found, 124 that the time ran out.
if ((status == 124)) || { ((status != 3)) && grep -q 'fetching vulnerabilities' "$output"; }; then
	echo '**********************************************************************'
	echo '** NOT CHECKED FOR KNOWN VULNERABILITIES: the database of           **'
	echo '** govulncheck could not be reached from here. Run "make vuln"      **'
	echo '** where it can be.                                                 **'
	echo '**********************************************************************'
	exit 0
fi
exit "$status"
