package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"portico/config"
)

// adminTarget is the running service that a command talks to: by its configuration, or
// by the URL of its admin listener.
type adminTarget struct{ config, admin, tokenFile string }

// flags adds the flags that name it.
func (t *adminTarget) flags(c *cobra.Command) {
	c.Flags().StringVar(&t.config, "config", "", "configuration file that the service runs with")
	c.Flags().StringVar(&t.admin, "admin", "", "URL of the admin listener")
	c.Flags().StringVar(&t.tokenFile, "token-file", "", "file that holds the admin token")
}

// client returns what calls it. The caller closes it.
func (t *adminTarget) client() (*adminClient, error) {
	address, err := t.address()
	if err != nil {
		return nil, err
	}
	return newAdminClient(address, t.tokenFile)
}

// address is where the admin listener of the service listens.
func (t *adminTarget) address() (string, error) {
	switch {
	case t.admin == "" && t.config == "":
		return "", errors.New("one of --config and --admin is needed")
	case t.admin == "":
		return config.AdminAddress(t.config)
	}
	at, err := url.Parse(t.admin)
	if err != nil || at.Scheme != "http" || at.Host == "" || at.Port() == "" || strings.Trim(at.Path, "/") != "" || at.User != nil {
		return "", fmt.Errorf("--admin %q is no URL of an admin listener: want one like http://127.0.0.1:8081", t.admin)
	}
	return at.Host, nil
}

// writeJSON writes what the service answered for programs to read.
func writeJSON(w io.Writer, answer any) error {
	text, err := json.MarshalIndent(answer, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}
