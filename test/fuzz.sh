#!/usr/bin/env bash
# Fuzzes the fuzz targets of a package (the second argument; all packages of the module
# without it), starting from their committed corpora. The first argument says how long, as
# -fuzztime takes it. An input that fails is written below the package's testdata/fuzz by
# the go command: commit it with the fix.
#
# With --plain before them, inputs are changed without regard to what code they reach. All
# packages that a target needs would be compiled once more to see that, which takes longer
# than the few thousand inputs that every change is held to.
#
# What every change is held to counts inputs, so that it does not depend on the machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
plain=
if [[ $1 == --plain ]]; then
	plain=yes
	shift
fi
amount=$1
folder=${2:-.}
found=$(go env GOCACHE)/fuzz # where the go command keeps inputs that reached something
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT

fuzz() { # PACKAGE TARGET
	local run=(-run '^$' -fuzz "^$2\$" -fuzztime "$amount" -fuzzminimizetime 50x)
	if [[ -z $plain ]]; then
		go test "${run[@]}" "$1"
		return
	fi
	local program=$built/${1//\//-}.test
	[[ -e $program ]] || go test -c -o "$program" "$1"
	(cd "$1" && "$program" "${run[@]/#-/-test.}" -test.fuzzcachedir "$found/$(go list .)")
}

count=0
while IFS=: read -r file target; do
	package=./$(dirname "$file")
	printf -- '--- %s %s, %s\n' "$package" "$target" "$amount"
	fuzz "$package" "$target"
	count=$((count + 1))
done < <(find "$folder" ${2:+-maxdepth 1} -name '*_test.go' -exec grep -Ho '^func Fuzz[A-Za-z0-9_]*' {} + | sed 's/:func /:/; s/^\.\///' | sort)
if ((count == 0)); then
	echo "fuzz: no fuzz target found" >&2
	exit 1
fi
echo "fuzz: $count targets, no failure"
