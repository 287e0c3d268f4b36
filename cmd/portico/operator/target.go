package operator

import (
	"crypto/x509"
	"errors"
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
	// TokenVariable names the environment variable that may hold the admin token. It is
	// never an argument: those can be read by others.
	TokenVariable = "PORTICO_ADMIN_TOKEN" //nolint:gosec // the name of a variable
	// contextVariable names the one that may name a context.
	contextVariable = "PORTICO_CONTEXT"

	// findingService says in the long help of a command how it finds the service.
	findingService = `The service is found by --admin, by the configuration that it runs with (--config), or
by a context (--context, PORTICO_CONTEXT, or the current one: portico context).
An admin token is taken from --token-file, from the context that found the service, or
from ` + TokenVariable + `. With --admin or --config the token of a context is not sent.`
)

// Target is the running service that a command talks to: by the URL of its admin listener,
// by its configuration, or by a context.
type Target struct {
	admin, config, context, tokenFile, ca string
	// named: the service must be named, as the command changes it.
	named bool
}

// Flags adds the flags that name it.
func (t *Target) Flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&t.admin, "admin", "", "`URL` of the admin listener")
	f.StringVar(&t.config, "config", "", "configuration `FILE` that the service runs with")
	f.StringVar(&t.context, "context", "", "`NAME` of a context, as portico context lists them")
	f.StringVar(&t.tokenFile, "token-file", "", "`FILE` that holds the admin token")
	f.StringVar(&t.ca, "ca", "", "`FILE` of authorities (PEM) that sign the certificate of an https admin listener")
	c.MarkFlagsMutuallyExclusive("admin", "config", "context")
	_ = c.RegisterFlagCompletionFunc("context", completeContexts) // fails only for a flag that is not defined
}

// service is a target that was found.
type service struct {
	url string
	by  string // what named it
	// tokenFile and ca are files, and may be empty.
	tokenFile, ca string
}

// Client returns what calls it. The caller closes it.
func (t *Target) Client() (*api.Client, error) {
	s, err := t.find()
	if err != nil {
		return nil, err
	}
	return s.client()
}

// find finds out which service is meant. Of a context nothing counts where another thing
// names the service: its token is for its own URL alone.
func (t *Target) find() (s service, err error) {
	switch {
	case t.admin != "":
		s = service{url: t.admin, by: "--admin"}
	case t.config != "":
		address, err := config.AdminAddress(t.config)
		if err != nil {
			return s, err
		}
		s = service{url: urlOf(address), by: "the configuration " + t.config}
	default:
		if s, err = t.findContext(); err != nil {
			return s, err
		}
	}
	if t.tokenFile != "" {
		s.tokenFile = t.tokenFile
	}
	if t.ca != "" {
		s.ca = t.ca
	}
	return s, nil
}

func (t *Target) findContext() (s service, err error) {
	path, err := contextsPath()
	if err != nil {
		return s, err
	}
	file, err := loadContextFile(path)
	if err != nil {
		return s, err
	}
	name := t.context
	if name == "" {
		name = os.Getenv(contextVariable)
	}
	if name == "" {
		name = file.Current
	}
	if name == "" && t.named {
		return s, errors.New("name the service: --admin URL, --config FILE or --context NAME")
	}
	if name == "" {
		return service{url: urlOf(config.Defaults().Server.Admin), by: "default"}, nil
	}
	c, err := file.Find(name)
	return service{url: c.Admin, by: "the context " + c.Name, tokenFile: c.TokenFile, ca: c.CA}, err
}

// urlOf is the URL of a listener at an address.
func urlOf(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "http://" + address // which is refused where it is used
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
