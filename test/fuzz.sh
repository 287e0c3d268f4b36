#!/usr/bin/env bash
# Fuzzes each fuzz target of the module (first argument: how long, as -fuzztime
# takes it; 5000 inputs by default), starting from its committed corpus. An
# input that fails is written below the package's testdata/fuzz by the go
# command: commit it with the fix.
#
# What every change is held to counts inputs: Go before 1.27 now and then calls
# a run that ends by time a failure, "context deadline exceeded" without an
# input (go.dev/issue/75804).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
amount=${1:-5000x}

count=0
while IFS=: read -r file target; do
	package=./$(dirname "$file")
	printf -- '--- %s %s, %s\n' "$package" "$target" "$amount"
	go test -run '^$' -fuzz "^${target}\$" -fuzztime "$amount" -fuzzminimizetime 50x "$package"
	count=$((count + 1))
done < <(grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed 's/:func /:/; s/^\.\///' | sort)
if ((count == 0)); then
	echo "fuzz: no fuzz target found" >&2
	exit 1
fi
echo "fuzz: $count targets, no failure"
