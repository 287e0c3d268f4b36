package operator

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"portico/gateway/admin/api"
)

const exampleID = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/demo/providers/Contoso.Compute/virtualMachines/vm"

// advise adds advice to the error of a failed call. missing is the advice if the listener
// does not know the requested object; it may be empty.
func (s service) advise(err error, missing string) error {
	if unreachable, ok := errors.AsType[*api.UnreachableError](err); ok {
		return s.adviseUnreachable(unreachable)
	}
	if stranger, ok := errors.AsType[*api.NotAdminError](err); ok {
		if stranger.Public {
			return fmt.Errorf("%w\n%s. The admin listener has another address: server.admin of the service's configuration, port 8081 by default", stranger,
				s.origin())
		}
		return fmt.Errorf("%w\n%s. An admin listener of an earlier version may lack this path; the public listener has another address", stranger,
			s.origin())
	}
	refusal, ok := errors.AsType[*api.Refusal](err)
	if !ok {
		return err
	}
	text := refusal.Error()
	switch {
	case refusal.Status == http.StatusUnauthorized && s.tokenless():
		return fmt.Errorf("the admin listener requires a token: set %s or --token-file", TokenVariable)
	case refusal.Status == http.StatusUnauthorized:
		text = "the admin listener does not accept this token. Its SHA-256 has to be in server.adminToken or server.adminTokens of the service's configuration"
	case refusal.Status == http.StatusForbidden:
		text += "\nserver.adminHosts lists the host names that the listener answers under"
	case refusal.Status == http.StatusNotFound && missing != "":
		text += "\n" + missing
	case refusal.Status == http.StatusBadRequest && strings.Contains(refusal.Message, "the ID of a subscription, or of "):
		text += "\nAn ID begins with /subscriptions/, such as " + exampleID + ": portico resources list shows the existing ones"
	case refusal.Status == http.StatusBadRequest && strings.Contains(refusal.Message, "a token of this feed"):
		text += "\nportico changes prints the token to continue after at its end; --since 10m begins at a time"
	case refusal.RetryAfter > 0:
		text += fmt.Sprintf("\nTry again in %s", refusal.RetryAfter)
	}
	for _, d := range refusal.Details {
		text += "\n  " + strings.TrimPrefix(d.Message, d.Target+": ")
	}
	return errors.New(text)
}

func (s service) adviseUnreachable(err *api.UnreachableError) error {
	_, untrusted := errors.AsType[x509.UnknownAuthorityError](err)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	next := "Is the service running there? Name another one by --admin URL, --config FILE or " + AdminVariable
	switch {
	case untrusted:
		next = "Name the authorities that sign its certificate: --ca FILE"
	case plain, strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		next = "It does not use TLS: use http instead of https"
	}
	return fmt.Errorf("%w\n%s. %s", err, s.origin(), next)
}

// origin says where the URL of the service comes from.
func (s service) origin() string {
	if s.by == "default" {
		return s.url + " is the default, as no service was named"
	}
	return s.url + " comes from " + s.by
}
