#!/usr/bin/env bash
# Fuzzes the fuzz targets of a package (the second argument; all packages of the module
# without it), starting from their committed corpora. The first argument says how long, as
# -fuzztime takes it. An input that fails is written below the package's testdata/fuzz by
# the go command: commit it with the fix.
#
# What every change is held to counts inputs: Go before 1.27 now and then calls
# a run that ends by time a failure, "context deadline exceeded" without an
# input (go.dev/issue/75804).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
amount=$1
folder=${2:-.}

count=0
while IFS=: read -r file target; do
	package=./$(dirname "$file")
	printf -- '--- %s %s, %s\n' "$package" "$target" "$amount"
	go test -run '^$' -fuzz "^${target}\$" -fuzztime "$amount" -fuzzminimizetime 50x "$package"
	count=$((count + 1))
done < <(find "$folder" ${2:+-maxdepth 1} -name '*_test.go' -exec grep -Ho '^func Fuzz[A-Za-z0-9_]*' {} + | sed 's/:func /:/; s/^\.\///' | sort)
if ((count == 0)); then
	echo "fuzz: no fuzz target found" >&2
	exit 1
fi
echo "fuzz: $count targets, no failure"
