#!/usr/bin/env bash
# Provides what building and testing Portico needs beside the Go modules, and
# says what it does about each thing that is missing:
#
#   go     1.21 or later, which fetches the version that go.mod names; not installed by
#          this script
#   gcc    the race detector needs cgo
#   curl   the demonstration's printed lines are run as they are
#   python3  runs what the page for receivers of webhooks says of signatures
#
#   nginx        benchmarks measure against it; no service of it is started
#   postgresql   tests start clusters of their own, on spare ports; no cluster
#                of the system is made or started
#   pgbouncer    tests reach clusters through one of their own; its service is not
#                started
#   systemd      systemd-analyze judges the unit; no init system is changed
#   procps       kill, by which the unit reloads
#   prometheus   runs the dashboards' queries and the alerts; its service is not
#                started
#   wrk          sends loads; benchmarks agree with it on what they count
#   chromium     shows the console's pages to their tests
#   oidc-provider  issues tokens; Node.js is not installed by this script
#   fastify        serves the provider of test/garden
#
# With the argument peers also what `make bench-peers` needs:
#
#   haproxy, caddy           Portico is measured beside them; no service of them is
#                            started or enabled
#   nghttp2-client           has h2load, which sends loads
#
# With the argument evidence what `make evidence` needs:
#
#   patroni, etcd-server     the store fails over by them; no service of theirs is
#                            started or enabled
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf 'prepare: %s\n' "$*"; }
fail() {
	printf 'prepare: %s\n' "$*" >&2
	exit 1
}

command -v go >/dev/null || fail "go is missing: install Go 1.21 or later"
go list -m >/dev/null || fail "the go command cannot build this module, see above"
say "$(go version)"

install() {
	command -v apt-get >/dev/null || fail "missing, and no apt-get to install them with: $*"
	((EUID == 0)) || fail "missing, install them as root: apt-get install $*"
	say "installing $*"
	local before service
	before=$(services "$@")
	forbid_services
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
	for service in $(services "$@"); do
		if [[ " $before " != *" $service "* ]]; then
			say "stopping and disabling the service $service"
			systemctl --quiet disable --now "$service"
		fi
	done
}

# By this file packages ask whether they may start their services. A machine that has
# one already keeps it.
policy=/usr/sbin/policy-rc.d
forbid_services() {
	[[ ! -e $policy ]] || return 0
	trap 'rm -f "$policy"' EXIT
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
}

# services prints, on one line, those of some packages' services that run, or will from
# the next start of the machine on. The service of etcd-server is etcd.
services() {
	local name found=()
	if [[ -d /run/systemd/system ]]; then
		for name in "${@%-server}"; do
			if systemctl --quiet is-active "$name" || systemctl --quiet is-enabled "$name"; then
				found+=("$name")
			fi
		done 2>/dev/null
	fi
	printf '%s' "${found[*]-}"
}

missing=()
command -v gcc >/dev/null || missing+=(gcc libc6-dev)
command -v curl >/dev/null || missing+=(curl)
command -v python3 >/dev/null || missing+=(python3)
command -v wrk >/dev/null || missing+=(wrk)
command -v nginx >/dev/null || [[ -x /usr/sbin/nginx ]] || missing+=(nginx)
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null || missing+=(postgresql)
command -v pgbouncer >/dev/null || [[ -x /usr/sbin/pgbouncer ]] || missing+=(pgbouncer)
command -v systemd-analyze >/dev/null || missing+=(systemd)
[[ -x /bin/kill ]] || missing+=(procps)
command -v prometheus >/dev/null && command -v promtool >/dev/null || missing+=(prometheus)
command -v chromium >/dev/null || command -v google-chrome >/dev/null || missing+=(chromium)
if [[ ${1:-} == peers ]]; then
	command -v haproxy >/dev/null || [[ -x /usr/sbin/haproxy ]] || missing+=(haproxy)
	command -v caddy >/dev/null || missing+=(caddy)
	command -v h2load >/dev/null || missing+=(nghttp2-client)
fi
if [[ ${1:-} == evidence ]]; then
	command -v patroni >/dev/null || missing+=(patroni)
	command -v etcd >/dev/null || missing+=(etcd-server)
fi
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
test/garden/prepare.sh
