package contract

import (
	"fmt"
	"strings"
)

// Bounds of a walk through the pages of a list. Pages without records are permitted, and
// concurrent writes may make a page repeat records of an earlier one.
const (
	mostPages  = 1000
	mostBarren = 50 // successive pages that show nothing new
)

// pageWalk is a walk through the pages of one list. It notices a list that does not end.
type pageWalk struct {
	links  map[string]bool
	ids    map[string]bool
	pages  int
	barren int // the latest pages that showed nothing new
}

// onward returns the link of the next page, "" at the end of the list. If the
// walk cannot go on, endless is the reason.
func (w *pageWalk) onward(a *Answer) (link, endless string) {
	if w.links == nil {
		w.links, w.ids = map[string]bool{}, map[string]bool{}
	}
	w.pages++
	w.barren++
	for _, item := range values(a) {
		if id := strings.ToLower(text(item, "id")); !w.ids[id] {
			w.ids[id], w.barren = true, 0
		}
	}
	link = text(a.doc, "nextLink")
	switch {
	case link == "":
		return "", ""
	case w.links[link]:
		return "", fmt.Sprintf("page %d has the nextLink of an earlier one: %s", w.pages, clip(link, 200))
	case w.barren >= mostBarren:
		return "", fmt.Sprintf("%d pages in succession have a nextLink but show nothing new", w.barren)
	case w.pages >= mostPages:
		return "", fmt.Sprintf("page %d has a nextLink", w.pages)
	}
	w.links[link] = true
	return link, ""
}
