#!/usr/bin/env bash
# Builds what terraform_test.go drives into .bin, unless it is there: OpenTofu
# and its provider for Azure, at the versions below.
#
# Both are built without the parts that would take an hour and that the test does
# not use: the provider with a few of its 130 services, OpenTofu without states
# kept, and keys held, at other clouds. What registers the others is left out, and
# nothing else is changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

tofu=v1.12.6
azurerm=v1.44.1-0.20260824201233-fae580791926 # 5.2.0
services='authorization|billing|dashboard|managedidentity|managementgroup|powerbi|resource|subscription'

stamp=.bin/.terraform
want="$tofu $azurerm $services"
[[ -x .bin/tofu && -x .bin/terraform-provider-azurerm && $(cat "$stamp" 2>/dev/null) == "$want" ]] && exit
mkdir -p .bin
bin=$PWD/.bin
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT

# copy lays the sources of a module out as a main module, which alone may be
# built with the replacements that its go.mod asks for.
copy() {
	echo "clients: downloading $1@$2"
	local dir
	dir=$(cd "$sources" && go mod download -json "$1@$2" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	cp -r --no-preserve=mode "$dir" "$sources/$3"
	cd "$sources/$3"
}

# build makes one program, named after the folder of its sources.
build() {
	echo "clients: building $1"
	go build -trimpath -ldflags='-s -w' -o "$bin/$1" "$2"
}

# keep rewrites a Go file without what it says of other services: imports,
# registrations, fields of clients, and the statements that make these.
keep() {
	awk -v keep="^($services)\$" '
		function other(name) { sub(/[.\/"].*/, "", name); return tolower(name) !~ keep && name != "preflight" }
		/internal\/services\// { name = $0; sub(/.*internal\/services\//, "", name); if (other(name)) next }
		/go-azure-sdk\/resource-manager\// { next }
		/^\t+[A-Za-z0-9]+\.Registration\{\},$/ { if (other($1)) next }
		/^\t[A-Za-z0-9]+ +\*[A-Za-z0-9_]+\.[A-Za-z]*Client$/ { if (other(substr($2, 2))) next }
		/^\tclient\.[A-Za-z0-9]+ = [A-Za-z0-9]+\.NewClient\(o\)$/ { if (other($3)) next }
		/^\tif client\.[A-Za-z0-9]+, err = / { if (other($5)) { getline; getline; next } }
		{ print }' "$1" >"$1.kept"
	mv "$1.kept" "$1"
}

(
	copy github.com/opentofu/opentofu "$tofu" tofu
	sed -i -E '/backend(Azure|Consul|Cos|GCS|Kubernetes|OSS|Pg|S3)\b/d' internal/backend/init/init.go
	clouds='aws_kms|azure_vault|gcp_kms|openbao'
	sed -i -E "/keyprovider\/($clouds)\"/d; /\(($clouds)\.New/,+2d" internal/encryption/default_registry.go
	build tofu ./cmd/tofu
)
(
	copy github.com/hashicorp/terraform-provider-azurerm "$azurerm" azurerm
	for file in internal/provider/services{,_gen}.go internal/clients/client.go; do keep "$file"; done
	# Clients that are generated are of services that are left out.
	cat >internal/clients/client_gen.go <<-'GO'
		package clients

		import "github.com/hashicorp/terraform-provider-azurerm/internal/common"

		type autoClient struct{}

		func buildAutoClients(*autoClient, *common.ClientOptions) error { return nil }
	GO
	build terraform-provider-azurerm .
)
echo "$want" >"$stamp"
