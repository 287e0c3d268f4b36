package operator

import (
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"portico/config"
	"portico/gateway/admin/api"
)

const (
	// TokenVariable names the environment variable that may hold the admin token. There
	// is no argument for it, as others can read arguments.
	TokenVariable = "PORTICO_ADMIN_TOKEN" //nolint:gosec // the name of a variable
	// AdminVariable names the environment variable that may hold the URL of the admin
	// listener.
	AdminVariable = "PORTICO_ADMIN"

	// findingService is the part of help texts about how a command finds the service.
	findingService = `The service is found by --admin, by the configuration that it runs with (--config), or
by ` + AdminVariable + `. An admin token is taken from --token-file, or from ` + TokenVariable + `.`
)

// Target is the running service that a command talks to: by the URL of its admin
// listener, or by its configuration.
type Target struct {
	admin, config, tokenFile, ca string
	// mustName: the service must be named, as the command changes it.
	mustName bool
}

// Flags adds the flags that name it.
func (t *Target) Flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&t.admin, "admin", "", "`URL` of the admin listener")
	f.StringVar(&t.config, "config", "", "configuration `FILE` that the service runs with")
	f.StringVar(&t.tokenFile, "token-file", "", "`FILE` that holds the admin token")
	f.StringVar(&t.ca, "ca", "", "`FILE` of authorities (PEM) that sign the certificate of an https admin listener")
	c.MarkFlagsMutuallyExclusive("admin", "config")
}

// service is a resolved target.
type service struct {
	url string
	by  string // what named it
	// tokenFile and ca are files, and may be empty.
	tokenFile, ca string
}

// Client returns a client of the service. The caller closes it.
func (t *Target) Client() (*api.Client, error) {
	s, err := t.find()
	if err != nil {
		return nil, err
	}
	return s.client()
}

// find determines which service is meant.
func (t *Target) find() (service, error) {
	s := service{tokenFile: t.tokenFile, ca: t.ca}
	variable := os.Getenv(AdminVariable)
	switch {
	case t.admin != "":
		s.url, s.by = t.admin, "--admin"
	case t.config != "":
		address, err := config.AdminAddress(t.config)
		if err != nil {
			return s, err
		}
		s.url, s.by = urlOf(address), "the configuration "+t.config
	case variable != "":
		s.url, s.by = variable, AdminVariable
	case t.mustName:
		return s, fmt.Errorf("name the service: --admin URL, --config FILE or %s", AdminVariable)
	default:
		s.url, s.by = urlOf(config.Defaults().Server.Admin), "default"
	}
	return s, nil
}

// urlOf returns the URL of a listener at an address.
func urlOf(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "http://" + address // refused when it is used
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

func (s service) client() (*api.Client, error) {
	o := api.ClientOptions{URL: s.url, Token: os.Getenv(TokenVariable)}
	if s.tokenFile != "" {
		text, err := os.ReadFile(s.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("the admin token: %w", err)
		}
		o.Token = string(text)
	}
	o.Token = strings.TrimSpace(o.Token)
	if s.ca != "" {
		text, err := os.ReadFile(filepath.Clean(s.ca))
		if err != nil {
			return nil, fmt.Errorf("the authorities of the admin listener: %w", err)
		}
		o.Authorities = x509.NewCertPool()
		if !o.Authorities.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificate in PEM", s.ca)
		}
	}
	return api.NewClient(o)
}
