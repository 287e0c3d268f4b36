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

Of a configuration server.admin alone is read, and the default taken where the file
cannot be read: a gateway goes on when its file has become a bad one.

Exit status 1: it is not ready.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if a.config != "" {
				address, err := config.AdminAddress(a.config)
				if err != nil {
					fmt.Fprintf(p.Stderr, "%v\nwarning: the configuration does not tell the admin listener; asking at %s\n", err, address)
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
	a.Flags(c)
	return c
}
