package gateway

import (
	"net/http"
	"net/url"

	"portico/arm"
	"portico/gateway/exchange"
)

func redirects(status int) bool {
	return status >= http.StatusMultipleChoices && status < http.StatusBadRequest && status != http.StatusNotModified
}

// checkRedirect refuses an answer that would lead its client away: clients follow a
// redirect by themselves, and some take their token along.
func (g *Gateway) checkRedirect(x *exchange.Exchange, p proxied, answer *http.Response) error {
	sent := answer.Header["Location"]
	if len(sent) == 0 || !redirects(answer.StatusCode) {
		return nil
	}
	if _, own := g.publicForm(sent[0], p); own {
		return nil
	}
	if _, known := g.knownRedirect(x, sent[0]); known {
		return nil
	}
	return arm.NewError(arm.InvalidProviderResponse, x.Request.Provider.Namespace, "a redirect to a host that is not known").About("Location")
}

// knownRedirect returns the target of a redirect to a host that the map names for the
// provider, or to a path beside the request's, written so that every client reads the
// same host in it. It is plain HTTP only where the front door itself is.
func (g *Gateway) knownRedirect(x *exchange.Exchange, sent string) (target string, known bool) {
	to, err := url.Parse(sent)
	switch {
	case err != nil || to.Opaque != "":
		return "", false
	case to.Scheme == "" && to.Host == "" && to.User == nil:
		asked, err := url.Parse(g.publicURI(x.Request))
		if err != nil {
			return "", false
		}
		return asked.ResolveReference(to).String(), true
	case to.Scheme != "https" && to.Scheme != g.public.Scheme, !x.Request.Provider.RedirectsTo(to):
		return "", false
	}
	return to.String(), true
}
