package operator

import (
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"portico/gateway/admin/api"
)

func reloadCommand(p Program) *cobra.Command {
	a := newServiceCommand(p)
	a.mustName = true
	c := &cobra.Command{
		Use:   "reload",
		Short: "Make the service read its configuration again",
		Long: `Make the service read its configuration again.

A configuration with a fault changes nothing: the faults are shown, each with file and
line. Only the named replica is reloaded: name each.

` + findingService + `

Exit status 1: the configuration stays as it was.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withClient(func(service *api.Client) error {
				return send(c.Context(), a, service, a.out, api.Request{Method: http.MethodPost, Path: "/admin/reload"}, writeReloaded)
			})
		},
	}
	a.Flags(c)
	return c
}

func writeReloaded(to io.Writer, r api.Reloaded) error {
	if _, err := fmt.Fprintf(to, "Configuration %d is in use.\n", r.Generation); err != nil {
		return err
	}
	for _, setting := range r.NeedsRestart {
		if _, err := fmt.Fprintf(to, "  %s stays as it was until the gateway is restarted\n", setting); err != nil {
			return err
		}
	}
	return nil
}
