package operator

import (
	"fmt"

	"github.com/spf13/cobra"

	"portico/config"
)

func readyCommand(p Program) *cobra.Command {
	a := newServiceCommand(p)
	c := &cobra.Command{
		Use:   "ready",
		Short: "Ask the service whether it is ready",
		Long: `Ask the service whether it is ready. No token is sent.

` + findingService + `

With --config only server.admin is read. If the file cannot be read, the default is used:
a running gateway is not affected when its file becomes invalid.

Exit status 1: it is not ready.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if a.config != "" {
				address, err := config.AdminAddress(a.config)
				if err != nil {
					fmt.Fprintf(p.Stderr, "%v\nwarning: the configuration does not name the admin listener; trying %s\n", err, address)
				}
				a.admin, a.config = urlOf(address), ""
			}
			service, err := a.connect()
			if err != nil {
				return err
			}
			defer service.Close()
			return service.Ready(c.Context())
		},
	}
	a.Target.Flags(c)
	return c
}
