#!/usr/bin/env bash
# Fuzzes each fuzz target of the module for a while (first argument, 10s by
# default), starting from its committed corpus. An input that fails is written
# below the package's testdata/fuzz by the go command: commit it with the fix.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
time=${1:-10s}

count=0
while IFS=: read -r file target; do
	package=./$(dirname "$file")
	printf -- '--- %s %s, %s\n' "$package" "$target" "$time"
	go test -run '^$' -fuzz "^${target}\$" -fuzztime "$time" -fuzzminimizetime 50x "$package"
	count=$((count + 1))
done < <(grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed 's/:func /:/; s/^\.\///' | sort)
if ((count == 0)); then
	echo "fuzz: no fuzz target found" >&2
	exit 1
fi
echo "fuzz: $count targets, no failure"
