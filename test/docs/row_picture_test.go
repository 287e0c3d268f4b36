package docs

import (
	"os"
	"path/filepath"
	"testing"

	"portico/inventory/index"
)

const rowPicture = "docs/pictures/row.svg"

// The states of a row, as they are drawn. A flagged row keeps its phase beside the flag.
const (
	noRow   = "no row"
	flagged = "to be verified"
)

var rowStates = []struct {
	name, says string
	at         place
}{
	{noRow, "never seen, or gone", place{34, 220}},
	{index.Pending.String(), "a create was sent", place{330, 120}},
	{index.Live.String(), "the resource was seen", place{660, 120}},
	{index.Deleting.String(), "a delete was accepted", place{990, 120}},
	{flagged, "its provider is asked", place{660, 330}},
}

// rowChange is an arrow of the picture: what an event makes of a row.
type rowChange struct {
	from, to string
	says     string
	path     string // of the arrow
	badge    place
	before   index.State
	event    any
}

var generation = [16]byte{1}

// rowOf returns the state of a resource whose row is in a phase while writes of these kinds
// are open.
func rowOf(row index.Row, open ...index.WriteKind) index.State {
	row.Generation = generation
	s := index.State{Row: &row}
	for _, kind := range open {
		s.Open = append(s.Open, index.Intent{Kind: kind, Generation: generation, CreatedRow: kind == index.Put && row.Phase == index.Pending})
	}
	return s
}

func rowChanges() []rowChange {
	pending, live := rowOf(index.Row{Phase: index.Pending}, index.Put), rowOf(index.Row{Phase: index.Live}, index.Delete)
	deleting := rowOf(index.Row{Phase: index.Deleting, FollowDelete: true})
	unsure := rowOf(index.Row{Phase: index.Live, Verify: true})
	found := func(state string) index.Observed {
		return index.Observed{Generation: generation, Found: true, ProvisioningState: state}
	}
	return []rowChange{
		{noRow, "Pending", "the intent of a PUT is recorded, before a byte of it leaves", "M130 220 L330 135", place{215, 184}, index.State{}, index.Intended{Kind: index.Put}},
		{"Pending", noRow, "the PUT is refused, or none of it has left", "M345 162 L172 228", place{262, 194}, pending, index.Answered{Outcome: index.Refused, Status: 400}},
		{"Pending", "Live", "the PUT is answered with the resource", "M468 141 L660 141", place{564, 141}, pending, index.Answered{Outcome: index.Succeeded, Status: 201}},
		{"Live", "Deleting", "a DELETE is answered 202", "M798 141 L990 141", place{894, 141}, live, index.Answered{Outcome: index.Accepted, Status: 202}},
		{"Live", noRow, "a DELETE is answered 200 or 204, or 404 of this resource", "M729 120 C700 60 250 50 103 220", place{460, 84}, live, index.Answered{Outcome: index.Gone, Status: 204}},
		{"Pending", flagged, "the PUT has no clear answer, or its operation has ended", "M399 162 L690 330", place{530, 238}, pending, index.Answered{Outcome: index.Ambiguous}},
		{"Live", flagged, "another write has no clear answer, or overlapped with one", "M715 162 L715 330", place{715, 225}, live, index.Answered{Outcome: index.Ambiguous}},
		{"Deleting", flagged, "the operation of the DELETE has ended, or is lost", "M1059 162 L780 330", place{900, 258}, deleting, index.FollowEnded{Kind: index.Delete}},
		{flagged, "Live", "Portico's own GET finds the resource", "M745 330 L745 162", place{745, 275}, unsure, found("Succeeded")},
		{flagged, noRow, "Portico's own GET gets a 404 of this resource", "M660 351 Q250 351 150 262", place{327, 329}, unsure, index.Observed{Generation: generation}},
		{noRow, "Live", "a sweep or a search finds the resource", "M172 246 L660 152", place{560, 171}, index.State{}, index.Discovered{}},
	}
}

// stateOf names the state of a row.
func stateOf(s index.State) string {
	switch {
	case s.Row == nil:
		return noRow
	case s.Row.Verify:
		return flagged
	}
	return s.Row.Phase.String()
}

func drawRow(changes []rowChange) string {
	const lists, aside, column = 420, 18, 594
	d := &drawing{}
	rows := (len(changes) + 1) / 2
	d.line(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="title">`, pictureWidth, lists+rows*stepHeight+16)
	d.line(`<title id="title">The states of a row of the index, and what changes them</title>`)
	d.line(pictureStyle)
	d.line(`<style>.change { fill: none; stroke: var(--soft); stroke-width: 1.5; marker-end: url(#head); } .tip { fill: var(--soft); }</style>`)
	d.line(`<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="tip" d="M0 0 L8 4 L0 8 z"/></marker></defs>`)
	d.line(`<rect class="paper" width="100%%" height="100%%"/>`)
	d.say("head", leftOfBoxes, 26, "The states of a row, and what changes them")
	d.say("soft", leftOfBoxes, 46, "The flag stands beside the phase, which stays. A GET of Portico's own proves from every state what it proves of a flagged row.")
	for _, c := range changes {
		d.line(`<path class="change" d="%s"/>`, c.path)
	}
	for _, s := range rowStates {
		class := "box"
		if s.name == flagged {
			class = "box lit"
		}
		d.line(`<rect class="%s" x="%g" y="%g" width="%d" height="%d" rx="6"/>`, class, s.at.x, s.at.y, boxWidth, boxHeight)
		d.say("name", s.at.x+8, s.at.y+18, s.name)
		d.say("says", s.at.x+8, s.at.y+32, s.says)
	}
	for i, c := range changes {
		d.badge(c.badge.x, c.badge.y, i+1)
		x, y := leftOfBoxes+badge+float64(i/rows*column), float64(lists+i%rows*stepHeight)
		d.badge(x, y, i+1)
		d.say("name", x+aside, y+4, c.from+" → "+c.to)
		d.say("soft", x+aside+166, y+4, c.says)
	}
	d.line("</svg>")
	return d.String()
}

// The picture of a row's states is what the rule makes of each event.
func TestPictureOfARowIsCurrent(t *testing.T) {
	changes := rowChanges()
	for _, c := range changes {
		after, _ := index.Settle(c.before, c.event, [16]byte{2})
		if stateOf(c.before) != c.from || stateOf(after) != c.to {
			t.Errorf("%s: the picture leads from %s to %s, the rule from %s to %s", c.says, c.from, c.to, stateOf(c.before), stateOf(after))
		}
	}
	want, file := drawRow(changes), filepath.Join(root, rowPicture)
	if *updatePicture {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s is not what the rule says: go test ./test/docs -run Picture -update (%v)", rowPicture, err)
	}
}
