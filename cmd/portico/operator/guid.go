package operator

import (
	"fmt"

	"github.com/spf13/cobra"

	"portico/arm"
)

// withGUIDs makes a command refuse values of some flags that are not GUIDs, before it
// calls the service.
func withGUIDs(c *cobra.Command, flags ...string) *cobra.Command {
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		for _, name := range flags {
			if err := wantGUID(c, name); err != nil {
				return err
			}
		}
		return run(c, args)
	}
	return c
}

func wantGUID(c *cobra.Command, flag string) error {
	var values []string
	if all, err := c.Flags().GetStringArray(flag); err == nil {
		values = all
	} else if one, err := c.Flags().GetString(flag); err == nil && one != "" {
		values = []string{one}
	}
	for _, value := range values {
		if !arm.ValidGUID(value) {
			return fmt.Errorf("--%s %q is not a GUID: want the id from the identity provider (not a name or an address), such as 00000000-0000-0000-0000-00000000a110",
				flag, value)
		}
	}
	return nil
}
