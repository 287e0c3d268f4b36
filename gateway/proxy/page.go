package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"portico/arm"
	"portico/fanout"
	"portico/gateway/exchange"
	"portico/internal/jsontext"
	"portico/routing"
	"portico/upstream/answers"
)

// mayBePage reports whether clients may take an answer for a page of a list. The answer
// to an action or to a poll may be one.
func mayBePage(q *routing.Request, answer *http.Response) bool {
	return succeeded(answer) && q.Method != http.MethodHead && q.Class != routing.Instance
}

// guardPage makes the nextLink of a page lead to the front door. It refuses a page whose
// link cannot.
func (p *Proxy) guardPage(ctx context.Context, x *exchange.Exchange, d *Resolved, answer *http.Response) error {
	namespace := x.Request.Provider.Namespace
	text, err := p.bufferBody(answer, namespace, d.Region)
	if err != nil || len(text) == 0 && answer.StatusCode != http.StatusOK {
		return err
	}
	invalid := func(why string) *arm.Error { return arm.NewError(arm.InvalidProviderResponse, namespace, why) }
	if len(text) > 0 && !readsLikeASCII(answer.Header["Content-Type"]) {
		return invalid("its character set cannot be checked").WithTarget("Content-Type")
	}
	page, shown, err := parsePage(x, text)
	if err != nil {
		switch {
		case x.Request.Class == routing.Collection, errors.Is(err, fanout.ErrAmbiguous):
			return invalid(err.Error())
		case fanout.MayHoldLink(text):
			return invalid("it is not JSON, and less strict readers may find a nextLink in it").WithTarget("nextLink")
		}
		return nil // an action's answer need not be JSON
	}
	foreign := shown < len(page.Elements)
	if page.NextLink == nil && !foreign {
		return nil
	}
	next, err := p.nextLink(ctx, x, d, page.NextLink)
	if err != nil {
		return invalid(err.Error()).WithTarget("nextLink")
	}
	if foreign {
		replaceBody(answer, page.Shown(next))
		return nil
	}
	link := []byte("null")
	if next != "" {
		if link, err = json.Marshal(next); err != nil {
			return err
		}
	}
	replaceBody(answer, page.WithNextLink(link))
	return nil
}

// parsePage finds the link of a page and, for a page of a list, how many of its elements
// are shown: those inside the list's scope.
func parsePage(x *exchange.Exchange, text []byte) (page fanout.Page, shown int, err error) {
	if isList(x.Request) {
		page, err = fanout.ParsePage(text)
		if !errors.Is(err, fanout.ErrNoValue) {
			shown = page.HideForeign(&x.Request.Path)
			return page, shown, err
		}
	}
	page, err = fanout.ParseLink(text)
	return page, 0, err
}

// nextLink returns the link of a page for the client, "" at the end of the list. The
// pages of an operation's result have the path that its provider names, as the polled
// path is not a list.
func (p *Proxy) nextLink(ctx context.Context, x *exchange.Exchange, d *Resolved, link []byte) (string, error) {
	links := fanout.NextLinks{Public: p.Public, Endpoint: d.Endpoint, Path: x.Request.Path.String()}
	if q := x.Request; q.Class != routing.Poll {
		links.Longest, links.Version = fanout.MaxTarget, q.Query.APIVersion
		links.Accepts = func(query string) bool {
			next, fault := routing.Classify(p.Config.Map, q.Method, q.Path.Escaped(), query)
			return fault == nil && next.Check(p.Config.Map, "") == nil
		}
	}
	path, bare := x.Request.Path.Escaped(), false
	if text, ok := jsontext.Text(link); ok && x.Request.Class == routing.Poll {
		if to, own := p.resultPath(d, text); own {
			bare = to.String() != links.Path && !strings.Contains(text, "?")
			links.Path, path = to.String(), to.Escaped()
		}
	}
	var query string
	if !bare {
		var err error
		if query, err = links.Query(link); err != nil || query == "" {
			return "", err
		}
	}
	if d.Operation != nil && x.Request.Class == routing.Poll {
		return p.Polls.PageLink(ctx, x, d.Decision, path, query), nil
	}
	return answers.PublicLink(p.Public, path, query), nil
}

// resultPath returns the path of the next page of an operation's result.
func (p *Proxy) resultPath(d *Resolved, link string) (to arm.Path, own bool) {
	if strings.HasPrefix(link, "?") && d.Operation != nil && d.Operation.Target != "" { // relative to the called URL
		called, _, _ := strings.Cut(d.Operation.Target, "?")
		return to, to.Parse(called) == nil
	}
	target, own := answers.OwnLink(link, p.Public, d.Endpoint)
	return to, own && to.Parse(target.EscapedPath()) == nil
}
