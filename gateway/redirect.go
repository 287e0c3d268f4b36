package gateway

import (
	"net/http"
	"net/url"

	"portico/arm"
)

func redirects(status int) bool {
	return status >= http.StatusMultipleChoices && status < http.StatusBadRequest && status != http.StatusNotModified
}

// checkRedirect refuses an answer that would lead its client away: clients follow a
// redirect by themselves, and some take their token along.
func (g *Gateway) checkRedirect(x *exchange, p proxied, answer *http.Response) error {
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
	return arm.NewError(arm.InvalidProviderResponse, x.request.Provider.Namespace, "a redirect to a host that is not known").About("Location")
}

// knownRedirect returns the target of a redirect to a host that the map names for the
// provider, or to a path beside the request's, written so that every client reads the
// same host in it. It is plain HTTP only where the front door itself is.
func (g *Gateway) knownRedirect(x *exchange, sent string) (target string, known bool) {
	to, err := url.Parse(sent)
	switch {
	case err != nil || to.Opaque != "":
		return "", false
	case to.Scheme == "" && to.Host == "" && to.User == nil:
		asked, err := url.Parse(g.publicURI(x.request))
		if err != nil {
			return "", false
		}
		return asked.ResolveReference(to).String(), true
	case to.Scheme != "https" && to.Scheme != g.public.Scheme, !x.request.Provider.RedirectsTo(to):
		return "", false
	}
	return to.String(), true
}
