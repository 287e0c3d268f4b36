package contoso

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"portico/provider/contoso/fault"
	"strconv"
	"strings"
)

// list answers a collection, ordered by folded id, page by page (resource
// reference, Paging Response Body).
func (p *Provider) list(c *call, t *resourceType) (answer, error) {
	for _, key := range []string{"$top", "$skiptoken"} {
		if len(c.query[key]) > 1 {
			return answer{}, badRequest("InvalidQueryParameter", "The query parameter %s is given twice.", key)
		}
	}
	size, err := p.pageOf(c)
	if err != nil {
		return answer{}, err
	}
	after, err := skipTokenKey(c.query.Get("$skiptoken"))
	if err != nil {
		return answer{}, err
	}
	var number string
	if after, number, err = p.readTokenOnce(after); err != nil {
		return answer{}, err
	}
	return p.transact(func(x *tx) (answer, error) {
		if err := x.checkParent(c.address, t); err != nil {
			return answer{}, err
		}
		prefix := collectionPrefix(c.address, t)
		if c.fault.Name == fault.ForeignElements {
			prefix = "/"
		}
		page := x.page(t, prefix, after, size)
		if err := x.refusePage(c, after, number, page); err != nil {
			return answer{}, err
		}
		if x.stateFor(c.address) == subscriptionUnregistered {
			if x.breaks[unregisteredList403] {
				return answer{}, fail(http.StatusForbidden, "SubscriptionNotRegistered", "The subscription is not registered.")
			}
			page.resources, page.more = nil, false
		}
		out := object{{"value", page.value(c.etags)}}
		if page.more {
			if x.breaks[nextLinkLoops] && after != "" {
				page.after = after
			}
			next, err := c.nextLink(x.numberedKey(page.after))
			if err != nil {
				return answer{}, err
			}
			out = append(out, member{"nextLink", encode(next)})
		} else if x.breaks[emptyNextLink] {
			out = append(out, member{"nextLink", encode("")})
		}
		return bodyAnswer(http.StatusOK, out.bytes()), nil
	})
}

// collectionPrefix returns the common prefix of the keys of a collection's resources.
func collectionPrefix(a address, t *resourceType) string {
	if t.kind != extension && len(a.scope) == 2 {
		return a.scopeKey() + "/" // any group of the subscription
	}
	return a.key() + "/"
}

type page struct {
	resources []*resource
	more      bool
	after     string // the key after which the next page begins
}

func (t *tx) page(kind *resourceType, prefix, after string, size int) page {
	if t.breaks[pageByOffset] {
		return t.pageByOffset(kind, prefix, after, size)
	}
	var p page
	for _, k := range t.keysBelow(prefix, after) {
		r := t.resource(k)
		if !same(r.Type, kind.name()) {
			continue
		}
		if len(p.resources) == size {
			p.more, p.after = true, p.resources[size-1].key()
			if t.breaks[pageLosesItem] {
				p.after = k
			}
			break
		}
		p.resources = append(p.resources, r)
	}
	return p
}

func (p page) value(etags bool) json.RawMessage {
	out := []byte{'['}
	for i, r := range p.resources {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, r.render(etags)...)
	}
	return append(out, ']')
}

// pageOf returns the page's size: the minimum of the provider's limit, its
// steering header and $top.
func (p *Provider) pageOf(c *call) (int, error) {
	size := p.pageSize
	if v := c.header.Get("x-contoso-page-size"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			return 0, badHeader("x-contoso-page-size", "an integer from 1")
		}
		size = n
	}
	if c.query.Has("$top") {
		n, err := strconv.Atoi(c.query.Get("$top"))
		if err != nil || n < 1 {
			return 0, badRequest("InvalidQueryParameter", "The query parameter $top must be an integer from 1.")
		}
		size = min(size, n)
	}
	return size, nil
}

// skipToken returns a token with the last key that was sent, so a page begins
// at the right place even if the collection changes between pages.
func skipToken(key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte("1" + key))
}

func skipTokenKey(token string) (string, error) {
	if token == "" {
		return "", nil
	}
	token, _, _ = strings.Cut(token, paddingMark)
	b, err := base64.RawURLEncoding.DecodeString(token)
	key, ok := strings.CutPrefix(string(b), "1/")
	if err != nil || !ok {
		return "", badRequest("InvalidSkipToken", "The query parameter $skipToken is not one that this provider gave.")
	}
	return "/" + key, nil
}
