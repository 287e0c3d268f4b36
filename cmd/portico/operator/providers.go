package operator

import (
	"strings"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
)

// typeRow is a row of the table of providers: one of their resource types.
type typeRow struct {
	provider     api.Provider
	resourceType api.ResourceType
}

func providersCommand(p Program) *cobra.Command {
	l := listing[api.Provider, typeRow]{
		path: "/admin/providers", none: "The map has no provider.",
		rows: func(providers []api.Provider) (rows []typeRow) {
			for _, provider := range providers {
				for _, t := range provider.ResourceTypes {
					rows = append(rows, typeRow{provider, t})
				}
			}
			return rows
		},
		columns: []terminal.Column[typeRow]{
			{Title: "PROVIDER", Cell: func(r typeRow) string { return r.provider.Namespace }, Least: 15},
			{Title: "TYPE", Cell: func(r typeRow) string { return r.resourceType.Name }, Least: 21},
			{Title: "KIND", Cell: func(r typeRow) string { return r.resourceType.Kind }, Drop: 3},
			{Title: "ROUTING", Cell: func(r typeRow) string { return r.resourceType.Routing }, Drop: 4},
			{Title: "LOCATIONS", Cell: func(r typeRow) string { return strings.Join(r.resourceType.Locations, ",") }, Least: 15, Drop: 1},
			{Title: "API-VERSIONS", Cell: func(r typeRow) string { return strings.Join(r.resourceType.APIVersions, ",") }, Least: 12, Drop: 2},
			{Title: "CONTACT", Cell: func(r typeRow) string { return r.provider.Contact }, Least: 12, Drop: 5},
			{Title: "REGISTRATION", Cell: func(r typeRow) string { return r.provider.Registration }, Wide: true},
		},
	}
	return l.command(p, "providers", "Show the providers of the region map and their resource types", "")
}
