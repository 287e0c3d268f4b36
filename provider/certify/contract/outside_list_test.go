package contract

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// list answers with a page of what lies below an id.
func (o *outside) list(w http.ResponseWriter, r *http.Request, below, kind string) {
	if r.Method != http.MethodGet {
		panic(refuse(405, "NotAllowed"))
	}
	prefix := strings.ToLower(below)
	if o.is("groups-by-prefix") {
		prefix, _, _ = strings.Cut(prefix, "/providers/")
	}
	var all []any
	for _, key := range o.order {
		t := o.resources[key]
		if !t.hidden && t.kind == kind && strings.HasPrefix(strings.ToLower(key), prefix) {
			item := o.show(t)
			if o.is("items-without-properties") {
				delete(item, "properties")
			}
			all = append(all, item)
		}
	}
	if o.noTop && r.URL.Query().Has("$top") {
		panic(refuse(400, "NoTop"))
	}
	skip, _ := strconv.Atoi(r.URL.Query().Get("$skipToken"))
	size := o.page
	if top, err := strconv.Atoi(r.URL.Query().Get("$top")); err == nil && o.page > 0 && !o.is("top-ignored") {
		size = min(size, top)
	}
	first := min(skip, len(all))
	page := all[first:]
	var next string
	if size > 0 && len(page) > size {
		page = page[:size]
		link, err := url.Parse(r.Header.Get("Referer"))
		if err != nil {
			panic(refuse(400, "BadReferer"))
		}
		q := link.Query()
		q.Set("$skipToken", strconv.Itoa(first+size))
		switch {
		case o.is("page-loses-one"):
			q.Set("$skipToken", strconv.Itoa(first+size+1))
		case o.is("next-link-without-version"):
			q.Del("api-version")
		case o.is("next-link-of-the-request"):
			link.Host = r.Host
		}
		link.RawQuery = q.Encode()
		if next = link.String(); o.appends {
			next = r.Header.Get("Referer") + "&$skipToken=" + q.Get("$skipToken")
		}
	}
	if o.endless != "" && strings.Contains(below, "/resourceGroups/") && len(all) > 2 {
		page, next = o.endlessPage(r, all)
	}
	if page == nil && !o.is("empty-is-null") {
		page = []any{}
	}
	answer := Object{"value": page}
	switch {
	case next != "":
		answer["nextLink"] = next
	case o.is("next-link-empty"):
		answer["nextLink"] = ""
	case o.odd:
		answer["nextLink"] = nil
	}
	o.write(w, r, 200, answer)
}

// endlessPage is one of the pages of a list that does not end.
func (o *outside) endlessPage(r *http.Request, all []any) (page []any, next string) {
	next = "https://front.contract.example" + r.URL.Path + "?api-version=2024-01-01&$skipToken="
	n := strconv.Itoa(o.requests)
	switch o.endless {
	case "same-link":
		return all[2:], next + "again"
	case "same-page":
		return all[:2], next + n
	case "empty-pages":
		return []any{}, next + n
	}
	return all[:1], next + n + strings.Repeat("x", 30<<10)
}
