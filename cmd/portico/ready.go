package main

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"portico/config"
)

func readyCommand(stderr io.Writer) *cobra.Command {
	var path string
	c := &cobra.Command{
		Use:   "ready --config FILE",
		Short: "Ask the service that runs with this configuration whether it is ready",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			// The service goes on where its configuration has become a bad one.
			address, err := config.AdminAddress(path)
			if err != nil {
				fmt.Fprintf(stderr, "%v\nwarning: the configuration does not tell the admin listener; asking at %s\n", err, address)
			}
			client, err := newAdminClient(address, "")
			if err != nil {
				return err
			}
			defer client.close()
			return client.ready(c.Context())
		},
	}
	configFlag(c, &path)
	return c
}

// ready returns an error unless the service would take requests.
func (c *adminClient) ready(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	response, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: the admin listener answers %d", response.StatusCode)
	}
	return nil
}
