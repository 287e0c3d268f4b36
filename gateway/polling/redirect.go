package polling

import (
	"net/http"
	"net/url"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/routing"
	"portico/upstream/answers"
)

func redirects(status int) bool {
	return status >= http.StatusMultipleChoices && status < http.StatusBadRequest && status != http.StatusNotModified
}

// CheckRedirect refuses a redirect to an unknown host: clients follow it by themselves,
// and some send their token along.
func (f *Forwarded) CheckRedirect(x *exchange.Exchange, d *routing.Decision, answer *http.Response) error {
	sent := answer.Header["Location"]
	if len(sent) == 0 || !redirects(answer.StatusCode) {
		return nil
	}
	if _, own := answers.OwnLink(sent[0], f.Public, d.Endpoint); own {
		return nil
	}
	if _, known := f.knownRedirect(x, sent[0]); known {
		return nil
	}
	return arm.NewError(arm.InvalidProviderResponse, x.Request.Provider.Namespace, "a redirect to a host that is not known").WithTarget("Location")
}

// knownRedirect returns the target of a redirect to a host that the map names for the
// provider, or to a path on the same host, written so that every client sees the same
// host. Plain HTTP is allowed only if the front door itself uses it.
func (f *Forwarded) knownRedirect(x *exchange.Exchange, sent string) (target string, known bool) {
	to, err := url.Parse(sent)
	switch {
	case err != nil || to.Opaque != "":
		return "", false
	case to.Scheme == "" && to.Host == "" && to.User == nil:
		base, err := url.Parse(f.urlOf(x.Request))
		if err != nil {
			return "", false
		}
		return base.ResolveReference(to).String(), true
	case to.Scheme != "https" && to.Scheme != f.Public.Scheme, !x.Request.Provider.RedirectsTo(to):
		return "", false
	}
	return to.String(), true
}
