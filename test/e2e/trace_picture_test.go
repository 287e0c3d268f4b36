package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

var updatePicture = flag.Bool("e2e.update", false, "write the picture of a trace in docs anew")

// The picture of a group's delete in the documentation is made of the spans of one. Bars
// show what encloses and follows what, not how long it took: that is of the machine.
func TestPictureOfAGroupDelete(t *testing.T) {
	t.Parallel()
	c := harness.StartCollector(t)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: patient(deletionSettings) + traced(c)}})
	fill(t, w, "rg", map[string]string{machines + "vm-west": "westus", machines + "vm-east": "eastus"})
	d := beginDelete(t, w, w.Portico, "rg")
	d.gone(t, w.Portico)
	request := deletionSpan(t, c)
	w.Portico.Stop(t)
	all := inTrace(c.Spans(), request.Trace)
	picture := newPicture(all, request).svg()
	path := filepath.Join("..", "..", "docs", "group-delete-trace.svg")
	if *updatePicture {
		harness.OK(t, os.WriteFile(path, []byte(picture), 0o600))
	}
	want, err := os.ReadFile(path)
	harness.OK(t, err)
	if picture != string(want) {
		t.Errorf("%s is not what the spans of a group's delete are:\n%s\n(go test ./test/e2e -run TestPictureOfAGroupDelete -e2e.update)", path, picture)
	}
}

// bar is a span in a picture, or several beside each other that look the same.
type bar struct {
	label, kind string
	spans       []harness.TraceSpan
	below       []*bar
	from, to    int
}

// what is the label without what it is done to: that may happen side by side.
func (b *bar) what() string {
	if b.kind == "store" {
		return b.label
	}
	return b.label[:strings.LastIndexByte(b.label, ' ')]
}

// sideBySide reports whether the bars below b happen at the same time.
func (b *bar) sideBySide() bool { return strings.HasPrefix(b.label, "job ") }

// newPicture makes bars of a trace. Questions to the store are left out, and what durable
// work records of its progress now and then.
func newPicture(all []harness.TraceSpan, root harness.TraceSpan) *bar {
	b := &bar{label: root.Name, kind: "request", spans: []harness.TraceSpan{root}}
	b.grow(all)
	b.place(0)
	return b
}

func (b *bar) grow(all []harness.TraceSpan) {
	for _, s := range all {
		if !slices.ContainsFunc(b.spans, func(of harness.TraceSpan) bool { return of.ID == s.Parent }) {
			continue
		}
		label, kind, shown := shownAs(s)
		if !shown {
			continue
		}
		i := slices.IndexFunc(b.below, func(of *bar) bool { return of.label == label })
		if i < 0 {
			i = len(b.below)
			b.below = append(b.below, &bar{label: label, kind: kind})
		}
		b.below[i].spans = append(b.below[i].spans, s)
	}
	began := map[string]uint64{} // by what is done, whatever it is done to
	for _, of := range b.below {
		for _, s := range of.spans {
			if first, ok := began[of.what()]; !ok || s.Start < first {
				began[of.what()] = s.Start
			}
		}
	}
	slices.SortFunc(b.below, func(x, y *bar) int {
		return cmp.Or(cmp.Compare(began[x.what()], began[y.what()]), cmp.Compare(x.label, y.label))
	})
	for _, of := range b.below {
		of.grow(all)
	}
}

// shownAs says how a span is shown.
func shownAs(s harness.TraceSpan) (label, kind string, shown bool) {
	a := s.Attributes
	switch kind, _, _ = strings.Cut(s.Name, " "); kind {
	case "store":
		operation := a["db.operation.name"]
		return "store write " + operation, kind, s.Name == "store write" && !strings.Contains(operation, "Progress") && !slices.Contains([]string{"Jobs.Renew", "Jobs.Defer", "Jobs.Save"}, operation)
	case "call":
		return s.Name + " to " + a["portico.region"], kind, true
	case "step":
		resource := a["portico.resource"]
		return s.Name + " of " + resource[strings.LastIndexByte(resource, '/')+1:], kind, true
	}
	return s.Name, kind, true
}

// place gives bars their places from left to right.
func (b *bar) place(from int) {
	b.from, b.to = from, from+1
	next := from
	steps := 0
	for _, of := range b.below {
		step := b.sideBySide() && of.kind == "step"
		if step && steps > 0 {
			of.place(steps - 1)
		} else {
			of.place(next)
		}
		if step && steps == 0 {
			steps = of.from + 1
		}
		next = max(next, of.to)
	}
	b.to = max(b.to, next)
	if b.kind == "request" { // which is answered when the work begins
		b.to = b.below[0].to
		for _, of := range b.below {
			if of.kind == "store" {
				b.to = max(b.to, of.to)
			}
		}
	}
}

// svg draws b with what is below it.
func (b *bar) svg() string {
	var rows []string
	width := 0
	var draw func(b *bar, depth int)
	colours := map[string]string{"request": "#3b6fb6", "job": "#7a52a8", "step": "#b0892f", "call": "#2f8f5b", "store": "#8a8f98"}
	const unit, rowHeight, labels = 40, 24, 340
	draw = func(b *bar, depth int) {
		y := 12 + rowHeight*len(rows)
		width = max(width, b.to)
		rows = append(rows, fmt.Sprintf(`<text x="%d" y="%d">%s</text><rect x="%d" y="%d" width="%d" height="14" rx="3" fill="%s"/>`,
			10+14*depth, y+11, html.EscapeString(b.label), labels+unit*b.from, y, unit*(b.to-b.from)-3, colours[b.kind]))
		for _, of := range b.below {
			draw(of, depth+1)
		}
	}
	draw(b, 0)
	w, h := labels+unit*width+10, 20+rowHeight*len(rows)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="monospace" font-size="12" fill="#24292f">
<title>The trace of a resource group's delete</title>
<rect width="%d" height="%d" fill="#ffffff"/>
%s
</svg>
`, w, h, w, h, w, h, strings.Join(rows, "\n"))
}
