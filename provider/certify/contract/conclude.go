package contract

import (
	"fmt"
	"net/http"
)

// conclusion is how a write ended.
type conclusion struct {
	*Answer      // the last answer about it
	done    bool // it did what was asked
}

// concluded waits for the end of the operation that a 202 started; any other answer is
// the end itself. A 202 without a polling URL counts as done.
func (s *Scene) concluded(started *Answer) conclusion {
	if started.Status != http.StatusAccepted {
		return conclusion{started, started.Status < 300}
	}
	if link := started.Header.Get("Location"); link != "" {
		end := s.locationEnded(link, started)
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

// over waits until a resource is settled: its state is terminal, or it is absent, whatever
// status a GET gives for that.
func (s *Scene) over(id string) *Answer {
	return s.await(id+" reaches a terminal state", func() (*Answer, bool) {
		a := s.get(id)
		return a, a.isGone() || a.Status == http.StatusOK && terminal(a.state())
	})
}

// listedOnce expects the collection of a resource not to have it twice, or with absent not
// at all. A collection that is not served, whose pages do not lead on or which lacks what
// is there is another case's.
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
		most, words = 0, "no more"
	}
	got := len(items.like(id))
	s.check(got <= most, "the collection has "+id+" "+words, "%d times", got)
}

// echoed are the members of a body that a provider shows as they were sent. Others it may
// keep to itself or write in another form.
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

// notServerError expects anything but a 5xx; 501 is a refusal.
func (a *Answer) notServerError(why string) *Answer {
	a.s.check(a.Status < 500 || a.Status == http.StatusNotImplemented, fmt.Sprintf("%s is answered or refused, %s", a.call, why), "%s", a)
	return a
}
