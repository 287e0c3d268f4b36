package regionmap

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"portico/regions"
)

// WriteTable writes how a map resolves: a line for each type in each of its regions, with providers
// sorted by namespace, and types and regions in file order.
func WriteTable(w io.Writer, m *regions.Map) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tTYPE\tKIND\tROUTING\tREGION\tENDPOINTS\tAPI-VERSIONS")
	for _, p := range m.Providers() {
		for _, t := range p.Types() {
			for _, region := range t.EffectiveRegions() {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.Namespace, t.Name, t.Kind, t.Routing,
					region, t.Endpoint(region), strings.Join(t.APIVersions, ","))
			}
		}
	}
	return table.Flush() // also returns earlier write errors
}
