#!/usr/bin/env bash
# Runs a command (the arguments after the first) that judges packages (the first, between
# spaces) by their tests, unless it has succeeded with the same code and test data. That is
# for what the go command itself repeats each time: fuzzing and benchmarks.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "${BASH_SOURCE[0]}")/.."
read -ra packages <<<"$1"
shift
of_module='{{if and .Module .Module.Main}}{{$dir := .Dir}}{{range .GoFiles}}{{$dir}}/{{.}}
{{end}}{{range .EmbedFiles}}{{$dir}}/{{.}}
{{end}}{{end}}'
inputs=$({
	go version
	{
		printf '%s\n' go.mod go.sum
		go list -deps -test -f "$of_module" "${packages[@]}" | sed "s#^$PWD/##; \\#//#d" # without the main file that go test makes
		find "${packages[@]}" -path '*/testdata/*' -type f
	} | LC_ALL=C sort -u | xargs sha256sum
} | sha256sum | cut -c1-32)
echo "$*"
ONCE_INPUTS=$inputs ONCE_COMMAND="${*@Q}" go test -timeout 30m ./test/once
