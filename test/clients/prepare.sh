#!/usr/bin/env bash
# Provides the clients that the tests of this folder run, where they are
# missing, and says what it does about each:
#
#   azure-cli   az; it sends nothing to anybody, and signs in nowhere but at the
#               tests' own authority
#   OpenTofu    and its provider azurerm, see terraform.sh
#   oidc-provider  at which az and Terraform sign in, see test/issuer
set -euo pipefail

say() { printf 'clients: %s\n' "$*"; }
fail() {
	printf 'clients: %s\n' "$*" >&2
	exit 1
}

missing=()
command -v az >/dev/null || missing+=(azure-cli)
if ((${#missing[@]} > 0)); then
	command -v apt-get >/dev/null || fail "missing, and no apt-get to install them with: ${missing[*]}"
	((EUID == 0)) || fail "missing, install them as root: apt-get install ${missing[*]}"
	say "installing ${missing[*]}, some minutes"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi
say "az $(az version --only-show-errors --query '"azure-cli"' --output tsv)"
command -v node >/dev/null && command -v npm >/dev/null || fail "node or npm is missing: install Node.js 20 or later"
"$(dirname "${BASH_SOURCE[0]}")/../issuer/prepare.sh"
"$(dirname "${BASH_SOURCE[0]}")/terraform.sh"
say "$("$(dirname "${BASH_SOURCE[0]}")/../../.bin/tofu" version | head -n 1)"
