package gateway

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"portico/arm"
	"portico/fanout"
)

// completedHeader tells whether every region that may hold elements answered.
const completedHeader = "X-Ms-Portico-Completed"

// emptyList answers a collection that no region can hold any of.
func (g *Gateway) emptyList(w http.ResponseWriter, x *exchange) error {
	w.Header()[completedHeader] = []string{"true"}
	return g.sendList(w, x, nil)
}

// mergedList answers a collection that lies in several regions.
func (g *Gateway) mergedList(w http.ResponseWriter, r *http.Request, x *exchange, p proxied) error {
	list := fanout.List{
		Reader:    g.upstream,
		Endpoints: p.Endpoints,
		Namespace: x.request.Provider.Namespace,
		Public:    g.public,
		Path:      x.request.Path,
		Query:     x.request.Query.Raw,
		Header:    g.outbound(r, x, p, http.MethodGet).Header,
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.config.Upstream.CallTimeout)
	defer cancel()
	merged, err := list.Collect(ctx)
	if err != nil {
		var fault *arm.Error
		if errors.As(err, &fault) {
			w.Header()[completedHeader] = []string{"false"}
		}
		return err
	}
	g.metrics.strays.Add(float64(merged.Strays))
	h := w.Header()
	h[completedHeader] = []string{"true"}
	if len(merged.RequestIDs) > 0 {
		h["X-Ms-Original-Request-Ids"] = []string{strings.Join(merged.RequestIDs, ";")}
	}
	return g.sendList(w, x, merged.Elements)
}

// sendList writes a page of elements as the bytes that they are.
func (g *Gateway) sendList(w http.ResponseWriter, x *exchange, elements [][]byte) error {
	size := len(`{"value":[]}`) + max(0, len(elements)-1)
	for _, e := range elements {
		size += len(e)
	}
	h := w.Header()
	g.ownHeaders(h, x)
	h["Content-Type"] = []string{"application/json; charset=utf-8"}
	h["Content-Length"] = []string{strconv.Itoa(size)}
	w.WriteHeader(http.StatusOK)

	page := bytes.NewBuffer(make([]byte, 0, size))
	page.WriteString(`{"value":[`)
	for i, e := range elements {
		if i > 0 {
			page.WriteByte(',')
		}
		page.Write(e)
	}
	page.WriteString(`]}`)
	_, _ = w.Write(page.Bytes()) // the client may be gone
	return nil
}
