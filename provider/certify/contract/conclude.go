package contract

import (
	"fmt"
	"net/http"
)

// conclusion is the end of a write.
type conclusion struct {
	*Answer      // the last one about the write
	done    bool // the write took effect
}

// concluded waits for the end of the operation that a 202 started; any other
// answer is the end already. A 202 without a polling URL counts as done.
func (s *Scene) concluded(started *Answer) conclusion {
	if started.Status != http.StatusAccepted {
		return conclusion{started, started.Status < 300}
	}
	if link := started.Header.Get("Location"); link != "" {
		end := s.awaitLocation(link, started)
		return conclusion{end, end.Status < 300}
	}
	if link := started.Header.Get("Azure-AsyncOperation"); link != "" {
		end := s.await("the operation at "+link+" ends", func() (*Answer, bool) {
			a := s.follow(link, started)
			return a, a.Status != http.StatusOK || terminal(text(a.doc, "status"))
		})
		return conclusion{end, end.Status == http.StatusOK && text(end.doc, "status") == "Succeeded"}
	}
	return conclusion{started, true}
}

// awaitEnd waits until a resource's state is terminal, or the resource is
// absent by any status of a GET.
func (s *Scene) awaitEnd(id string) *Answer {
	return s.await(id+" reaches a terminal state", func() (*Answer, bool) {
		a := s.get(id)
		return a, a.isGone() || a.Status == http.StatusOK && terminal(a.state())
	})
}

// listedOnce expects the resource's collection to show it at most once, and
// not at all if absent is set. Collections that are not served, whose pages
// do not lead on, or that lack existing resources are for other cases.
func (s *Scene) listedOnce(id string, absent bool) {
	var items listing
	page := s.get(collection(id))
	for walk := (pageWalk{}); ; {
		if page.Status != http.StatusOK {
			return
		}
		items.items = append(items.items, values(page)...)
		link, endless := walk.onward(page)
		if endless != "" {
			return
		}
		if link == "" {
			break
		}
		page = s.follow(link, page)
	}
	most, words := 1, "once"
	if absent {
		most, words = 0, "not at all"
	}
	got := len(items.like(id))
	s.check(got <= most, "the collection has "+id+" "+words, "%d times", got)
}

// echoed returns the members of a body that a provider shows as they were
// sent. It may hide others or show them in another form.
func echoed(body, read any) any {
	b, ok := body.(Object)
	r, same := read.(Object)
	if !ok || !same {
		return body
	}
	kept := Object{}
	for name, value := range b {
		if part := echoed(value, r[name]); missing(r[name], part, name) == "" {
			kept[name] = part
		}
	}
	return kept
}

// notServerError expects no 5xx; 501 counts as a refusal.
func (a *Answer) notServerError(why string) *Answer {
	a.s.check(a.Status < 500 || a.Status == http.StatusNotImplemented, fmt.Sprintf("%s is answered or refused, %s", a.call, why), "%s", a)
	return a
}
