#!/usr/bin/env bash
# Provides what building and testing Portico needs beside the Go modules, and
# says what it does about each thing that is missing:
#
#   go     at least the version that go.mod names; not installed by this script
#   gcc    the race detector needs cgo
#   curl   the demonstration's printed lines are run as they are
#
#   nginx        benchmarks measure against it; no service of it is started
#   postgresql   tests start clusters of their own, on spare ports; no cluster
#                of the system is made or started
#   systemd      systemd-analyze judges the unit; no init system is changed
#   procps       kill, by which the unit reloads
#   prometheus   runs the dashboards' queries and the alerts; its service is not
#                started
#   oidc-provider  issues tokens; Node.js is not installed by this script
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

install() {
	command -v apt-get >/dev/null || fail "missing, and no apt-get to install them with: $*"
	((EUID == 0)) || fail "missing, install them as root: apt-get install $*"
	say "installing $*"
	# At run level 1 no package starts its service.
	DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "$@"
}

missing=()
command -v gcc >/dev/null || missing+=(gcc libc6-dev)
command -v curl >/dev/null || missing+=(curl)
command -v nginx >/dev/null || [[ -x /usr/sbin/nginx ]] || missing+=(nginx)
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null || missing+=(postgresql)
command -v systemd-analyze >/dev/null || missing+=(systemd)
[[ -x /bin/kill ]] || missing+=(procps)
command -v prometheus >/dev/null && command -v promtool >/dev/null || missing+=(prometheus)
if ((${#missing[@]} > 0)); then
	if ((EUID == 0)) && command -v apt-get >/dev/null; then
		apt-get update -qq
	fi
	if [[ " ${missing[*]} " == *' postgresql '* ]]; then
		# What makes clusters comes first, to be told not to make one.
		install postgresql-common
		mkdir -p /etc/postgresql-common/createcluster.d
		echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.d/portico-tests.conf
	fi
	install "${missing[@]}"
fi

test/issuer/prepare.sh
