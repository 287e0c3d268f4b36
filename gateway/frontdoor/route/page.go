package route

import (
	"net/http"
	"net/url"
	"strconv"

	"portico/arm"
	"portico/arm/filter"
	"portico/fanout"
	"portico/gateway/exchange"
	"portico/upstream/answers"
)

// Bounds of one page.
const (
	// LargestPage is the maximum size of a page, and the size without $top.
	LargestPage = 1000
	// MostExamined bounds the work for one page of a filtered list. A page may hold few
	// elements, or none, and still link to the next.
	MostExamined = 20_000
	// PageBytes bounds the elements of a page together, if their source knows their size.
	// A single larger element has a page of its own.
	PageBytes = 8 << 20
)

// Lists encrypts and decrypts the skip tokens of lists.
type Lists struct {
	Lister *fanout.Lister
	Public *url.URL
}

// Page is the part of a list that a client asks for.
type Page struct {
	Top   int
	After string // the key after which it begins
}

// Read reads $top and $skipToken. The token holds the key where the previous page ended.
func (l Lists) Read(x *exchange.Exchange) (Page, error) {
	p := Page{Top: LargestPage}
	if text, ok := x.Request.Query.Get("$top"); ok {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return p, arm.NewError(arm.InvalidQueryParameter, "$top", "it is a whole number from 1 on").WithTarget("$top")
		}
		p.Top = min(n, LargestPage)
	}
	var known bool
	if p.After, known = l.Lister.OpenPosition(tokenBinding(x)); !known {
		return p, InvalidSkipToken()
	}
	return p, nil
}

// InvalidSkipToken returns the error for a skip token that the list did not issue.
func InvalidSkipToken() *arm.Error {
	return arm.NewError(arm.InvalidSkipToken).WithTarget("$skipToken")
}

// tokenBinding returns the list and the caller that the skip tokens of x are bound to.
func tokenBinding(x *exchange.Exchange) fanout.Request {
	return fanout.Request{Path: x.Request.Path, Query: x.Request.Query, Principal: x.Principal.Caller()}
}

// Answer answers with the elements of a page. The list continues after the key rest, ""
// at its end.
func (l Lists) Answer(w http.ResponseWriter, x *exchange.Exchange, elements []any, rest string) error {
	list := exchange.List{Value: elements}
	if rest != "" {
		query := x.Request.Query.Without("$skipToken")
		if query != "" {
			query += "&"
		}
		query += "%24skipToken=" + l.Lister.SealPosition(tokenBinding(x), rest)
		list.NextLink = answers.PublicLink(l.Public, x.Request.Path.Escaped(), query)
	}
	return x.Answer(w, http.StatusOK, list)
}

// ReadFiltered reads a page and $filter, for a list that supports the given fields; none
// means all.
func (l Lists) ReadFiltered(x *exchange.Exchange, fields ...filter.Field) (Page, filter.Filter, error) {
	p, err := l.Read(x)
	if err != nil {
		return p, filter.Filter{}, err
	}
	text, _ := x.Request.Query.Get("$filter")
	f, err := filter.Parse(text, fields...)
	if err != nil {
		return p, f, arm.NewError(arm.InvalidQueryParameter, "$filter", err.Error()).WithTarget("$filter")
	}
	return p, f, nil
}
