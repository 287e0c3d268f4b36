package contract

import (
	"fmt"
	"net/http"
)

// existing makes a resource exist before the case tries its rule, in whichever way the
// provider carries out its writes.
func (s *Scene) existing(id string, body Object) *Answer {
	var read *Answer
	s.prepare(func() {
		s.concluded(s.put(id, body).status(http.StatusOK, http.StatusCreated, http.StatusAccepted))
		read = s.await(id+" exists", func() (*Answer, bool) {
			a := s.get(id)
			return a, a.Status == http.StatusOK && terminal(a.state())
		})
		_, isObject := read.doc.(Object)
		s.check(isObject, read.call.String()+" answers with a resource", "%s", read)
	})
	return read
}

// conclusion is how a write ended.
type conclusion struct {
	*Answer      // the last one that told of it
	done    bool // it did what was asked
}

// concluded waits for the end of what a 202 has begun; any other answer is the end
// itself. A 202 that no URL tells of is taken for done.
func (s *Scene) concluded(begun *Answer) conclusion {
	if begun.Status != http.StatusAccepted {
		return conclusion{begun, begun.Status < 300}
	}
	if link := begun.Header.Get("Location"); link != "" {
		end := s.await("the operation at "+link+" ends", func() (*Answer, bool) {
			a := s.follow(link, begun)
			return a, a.Status != http.StatusAccepted
		})
		return conclusion{end, end.Status < 300}
	}
	if link := begun.Header.Get("Azure-AsyncOperation"); link != "" {
		end := s.await("the operation at "+link+" ends", func() (*Answer, bool) {
			a := s.follow(link, begun)
			return a, a.Status != http.StatusOK || terminal(text(a.doc, "status"))
		})
		return conclusion{end, end.Status == http.StatusOK && text(end.doc, "status") == "Succeeded"}
	}
	return conclusion{begun, true}
}

// listed is how often a resource is on the pages of its collection. How pages are linked
// is not judged.
func (s *Scene) listed(id string) int {
	var items listing
	s.prepare(func() {
		a := s.get(collection(id)).status(http.StatusOK)
		items.items = values(a)
		if link := text(a.doc, "nextLink"); link != "" {
			items.items = append(items.items, s.walkOn(link, a, func(int) {}).items...)
		}
	})
	return len(items.like(id))
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
