package operator

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
)

// regionRow is a row of the table of regions: an address of an endpoint, or a region or
// an endpoint without one.
type regionRow struct {
	region   api.Region
	endpoint api.Endpoint
	address  api.Address
}

func regionsCommand(p Program) *cobra.Command {
	l := listing[api.Region, regionRow]{
		path: "/admin/regions", none: "The map has no region.", rows: regionRows,
		columns: []terminal.Column[regionRow]{
			{Title: "REGION", Cell: func(r regionRow) string { return r.region.Name }, Least: 8},
			{Title: "STATE", Cell: func(r regionRow) string { return r.state() }, Style: func(r regionRow) terminal.Style { return styleOf(r.state()) }},
			{Title: "PROVIDER", Cell: func(r regionRow) string { return r.endpoint.Namespace }, Least: 10, Drop: 2},
			{Title: "ADDRESS", Cell: func(r regionRow) string { return r.address.URL }, Least: 34, Cut: terminal.CutStart},
			{Title: "SINCE", Time: func(r regionRow) time.Time { return instant(r.address.Since) }, Drop: 3},
			{Title: "CALLS", Cell: func(r regionRow) string { return number(r.address.Requests) }, Right: true, Drop: 5},
			{Title: "FAILED", Cell: func(r regionRow) string { return number(r.address.Failures) }, Right: true, Drop: 4},
			{Title: "NOW", Cell: func(r regionRow) string { return strconv.Itoa(r.address.InFlight) }, Right: true, Drop: 6},
			{Title: "REASON", Cell: func(r regionRow) string { return r.reason() }, Least: 10, Drop: 1},
			{Title: "CERTIFICATE UNTIL", Time: func(r regionRow) time.Time { return instant(r.address.CertificateEnds) }, Wide: true},
			{Title: "CIRCUIT", Cell: func(r regionRow) string { return r.address.Circuit }, Wide: true},
			{Title: "CONTACT", Cell: func(r regionRow) string { return r.endpoint.Contact }, Wide: true},
			{Title: "TYPES", Cell: func(r regionRow) string { return strings.Join(r.endpoint.ResourceTypes, ",") }, Wide: true},
		},
	}
	c := l.command(p, "regions", "Show the regions, and the state of each address of their endpoints",
		`Show the regions, and the state of each address of their endpoints.

A line is an address, as the gateway that answers sees it. CALLS and FAILED count since it
started, NOW counts the calls under way.`)
	c.AddCommand(regionsDrainCommand(p), regionsUndrainCommand(p))
	return c
}

// reason returns why an address is not used as others are.
func (r regionRow) reason() string {
	return cmp.Or(drainText(r.address.Drain), drainText(r.region.Drain), r.address.Reason, r.address.Distrust)
}

// state returns the address's state, or the region's in a row without an address.
func (r regionRow) state() string {
	if r.address.URL == "" {
		return r.region.State
	}
	return r.address.State
}

func regionRows(regions []api.Region) (rows []regionRow) {
	for _, region := range regions {
		before := len(rows)
		for _, endpoint := range region.Endpoints {
			for _, address := range endpoint.Addresses {
				rows = append(rows, regionRow{region, endpoint, address})
			}
		}
		if len(rows) == before {
			rows = append(rows, regionRow{region: region})
		}
	}
	return rows
}

func styleOf(state string) terminal.Style {
	switch state {
	case api.Up, "Done", "Succeeded", "Enabled", "Delivering":
		return terminal.Green
	case api.Down, "Failed", "Away":
		return terminal.Red
	case api.Degraded, "Cancelling", "Cancelled", "Warned", "PastDue", "Disabled", "Started":
		return terminal.Yellow
	}
	return terminal.Plain
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }
