package gateway

import (
	"strconv"

	"portico/arm"
	"portico/fanout"
	"portico/filter"
	"portico/gateway/exchange"
	"portico/routing"
)

// page is what a client asks of one of Portico's own lists.
type page struct {
	top   int
	after string // the key behind which it begins
}

// Sizes of the pages of own lists.
const (
	defaultPage = 1000
	largestPage = 1000
	// mostExamined bounds the work for one page of a filtered list. A page may
	// hold few elements, or none, and still link to the next.
	mostExamined = 20_000
)

// pageOf reads $top and $skipToken. The token is where the page before ended.
func (g *Gateway) pageOf(q *routing.Request) (page, error) {
	p := page{top: defaultPage}
	if text, ok := q.Query.Get("$top"); ok {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return p, arm.NewError(arm.InvalidQueryParameter, "$top", "it is a whole number from 1 on").About("$top")
		}
		p.top = min(n, largestPage)
	}
	var known bool
	if p.after, known = g.lister.OpenPosition(listed(q)); !known {
		return p, arm.NewError(arm.InvalidSkipToken).About("$skipToken")
	}
	return p, nil
}

// listed is an own list as its skip tokens are bound to it.
func listed(q *routing.Request) fanout.Request {
	return fanout.Request{Path: q.Path, Query: q.Query}
}

// filterOf reads $filter for a list that knows the given fields; none means all.
func filterOf(q routing.Query, fields ...filter.Field) (filter.Filter, error) {
	text, _ := q.Get("$filter")
	f, err := filter.Parse(text, fields...)
	if err != nil {
		return f, arm.NewError(arm.InvalidQueryParameter, "$filter", err.Error()).About("$filter")
	}
	return f, nil
}

// source is an ordered store of elements: a page of a list is cut from it.
type source[T any] struct {
	// read returns at most limit elements behind the key after.
	read func(after string, limit int) ([]T, error)
	key  func(T) string
	keep func(T) bool
}

// cut reads the elements of page p. rest is the key behind which the list goes
// on, "" at its end.
func (s source[T]) cut(p page) (elements []T, rest string, err error) {
	elements = []T{}
	last := ""
	for after, examined := p.after, 0; ; {
		limit := min(p.top+1, largestPage+1)
		read, err := s.read(after, limit)
		if err != nil {
			return nil, "", err
		}
		for _, e := range read {
			after = s.key(e)
			if !s.keep(e) {
				continue
			}
			if len(elements) == p.top {
				return elements, last, nil
			}
			elements, last = append(elements, e), after
		}
		if len(read) < limit {
			return elements, "", nil
		}
		if examined += len(read); examined >= mostExamined {
			return elements, after, nil
		}
	}
}

// listOf shows elements as a page that goes on behind the key rest.
func listOf[T any](g *Gateway, x *exchange.Exchange, elements []T, rest string, show func(T) any) exchange.List {
	l := exchange.ListOf(elements, show)
	if rest == "" {
		return l
	}
	query := x.Request.Query.Without("$skipToken")
	if query != "" {
		query += "&"
	}
	query += "%24skipToken=" + g.lister.SealPosition(listed(x.Request), rest)
	l.NextLink = fanout.PublicLink(g.public, x.Request.Path.Escaped(), query)
	return l
}
