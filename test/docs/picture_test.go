package docs

import (
	flags "flag"
	"fmt"
	"go/parser"
	"go/token"
	"html"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var updatePicture = flags.Bool("update", false, "draw the picture of the rooms anew")

const roomsPicture = "docs/pictures/rooms.svg"

// captions say what the rooms of the picture are for: the folders at the top, and those of
// gateway.
var captions = map[string]string{
	"access":            "who calls",
	"arm":               "paths, IDs, errors",
	"cmd":               "the programs",
	"config":            "the configuration file",
	"events":            "what changed, by whom",
	"fanout":            "one list, many regions",
	"gateway":           "the chain of a request",
	"gateway/admin":     "admin API and console",
	"gateway/admission": "region, locks, room",
	"gateway/authorize": "may the caller do it?",
	"gateway/batch":     "many requests in one",
	"gateway/chain":     "ids, hosts, sign-in",
	"gateway/exchange":  "what a request carries",
	"gateway/explain":   "a request's way, told",
	"gateway/frontdoor": "Portico's own resources",
	"gateway/observe":   "logs, metrics, events",
	"gateway/polling":   "work that is polled for",
	"gateway/preflight": "judges what is planned",
	"gateway/proxy":     "forwards and delivers",
	"internal":          "what is not about ARM",
	"internal/http1":    "HTTP/1.1, both sides",
	"inventory":         "the store and its index",
	"jobs":              "deletes, moves, sweeps",
	"limits":            "slots, memory, rates",
	"probe":             "asks what is there",
	"provider":          "for providers' authors",
	"regions":           "the region map",
	"routing":           "what is it about?",
	"template":          "ARM's templates",
	"tracing":           "ids, headers, spans",
	"upstream":          "calls regional endpoints",
}

// way is that of a PUT of a tracked resource, with the column in which each of its rooms is
// drawn.
var way = []struct {
	room   string
	column int
	does   string
}{
	{"internal/http1", 3, "reads the request from its socket"},
	{"gateway", 3, "composes the chain: log, ids, hosts"},
	{"access", 4, "signs the caller in"},
	{"routing", 5, "classifies it: a tracked resource"},
	{"gateway/authorize", 5, "asks for the caller's roles"},
	{"gateway/proxy", 5, "takes it over, judges the body"},
	{"gateway/admission", 6, "finds its region, checks locks"},
	{"inventory", 6, "records the intent beforehand"},
	{"upstream", 7, "calls the region's endpoint"},
	{"inventory", 6, "records what the answer means"},
	{"gateway/proxy", 5, "delivers the answer"},
}

// otherColumns are those of rooms beside the way, the first that are free.
var otherColumns = []int{0, 1, 2, 7, 4, 3, 6, 5}

// roomOf returns the room of a package: its folder at the top, or the next one below gateway.
// Both sides of HTTP/1.1 are one room, with what bounds their connections and their writes.
func roomOf(folder string) string {
	parts := strings.SplitN(folder, "/", 3)
	switch {
	case parts[0] == "gateway" && len(parts) > 1:
		return parts[0] + "/" + parts[1]
	case parts[0] == "internal" && len(parts) > 1 && slices.Contains([]string{"http1", "connections", "sendguard"}, parts[1]):
		return "internal/http1"
	}
	return parts[0]
}

// readRooms reads which rooms each room's packages import.
func readRooms(t *testing.T) map[string]map[string]bool {
	t.Helper()
	rooms := map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || strings.HasSuffix(d.Name(), "test") || d.Name() == "testdata" || path == filepath.Join(root, "deploy")):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		room := roomOf(filepath.ToSlash(folder))
		if rooms[room] == nil {
			rooms[room] = map[string]bool{}
		}
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if below, own := strings.CutPrefix(name, "portico/"); own && roomOf(below) != room {
				rooms[room][roomOf(below)] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rooms
}

// floorsOf puts each room on the floor above the highest of those that it imports.
func floorsOf(t *testing.T, rooms map[string]map[string]bool) [][]string {
	t.Helper()
	heights := map[string]int{}
	var height func(room string, above []string) int
	height = func(room string, above []string) int {
		if slices.Contains(above, room) {
			t.Fatalf("rooms import each other in a circle: %v, %s", above, room)
		}
		if h, known := heights[room]; known {
			return h
		}
		h := 0
		for below := range rooms[room] {
			h = max(h, 1+height(below, append(above, room)))
		}
		heights[room] = h
		return h
	}
	var floors [][]string
	for _, room := range slices.Sorted(maps.Keys(rooms)) {
		for h := height(room, nil); len(floors) <= h; {
			floors = append(floors, nil)
		}
		floors[heights[room]] = append(floors[heights[room]], room)
	}
	return floors
}

// Measures of the picture, in its units.
const (
	boxWidth, boxHeight = 138, 42
	gapX, gapY          = 10, 20
	leftOfBoxes, onTop  = 34, 64
	pictureWidth        = 1222
	stepHeight          = 24
	badge               = 8.5
	longestCaption      = 25
)

// place is the upper left corner of a room.
type place struct{ x, y float64 }

// drawing is the picture as it is drawn.
type drawing struct {
	strings.Builder
	places map[string]place
	badges map[string]int // of a room, so far
}

const pictureStyle = `<style>
svg { font-family: system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; --paper: #ffffff; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --box: #f6f8fa; --way: #0969da; --lit: #ddf4ff; }
@media (prefers-color-scheme: dark) { svg { --paper: #0d1117; --ink: #e6edf3; --soft: #9198a1; --line: #3d444d; --box: #151b23; --way: #58a6ff; --lit: #10294a; } }
.paper { fill: var(--paper); } text { fill: var(--ink); font-size: 12px; } .head { font-size: 17px; font-weight: 600; } .soft { fill: var(--soft); font-size: 11.5px; }
.name { font-weight: 600; font-size: 10.8px; } .says { fill: var(--soft); font-size: 10.2px; }
.box { fill: var(--box); stroke: var(--line); } .lit { fill: var(--lit); stroke: var(--way); }
.floor { stroke: var(--line); stroke-dasharray: 2 4; } .way { fill: none; stroke: var(--way); stroke-width: 2; opacity: .55; }
.badge { fill: var(--way); } .number { fill: var(--paper); font-size: 10px; font-weight: 700; text-anchor: middle; }
</style>`

func (d *drawing) line(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

func (d *drawing) say(class string, x, y float64, text string) {
	d.line(`<text class="%s" x="%g" y="%g">%s</text>`, class, x, y, html.EscapeString(text))
}

func (d *drawing) badge(x, y float64, step int) {
	d.line(`<circle class="badge" cx="%g" cy="%g" r="%g"/><text class="number" x="%g" y="%g">%d</text>`, x, y, badge, x, y+3.5, step)
}

// draw draws the rooms, the highest floor on top, and the way of a request through them.
func draw(rooms map[string]map[string]bool, floors [][]string) string {
	d := &drawing{places: map[string]place{}, badges: map[string]int{}}
	high := onTop + len(floors)*(boxHeight+gapY) + 6
	d.line(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="title">`, pictureWidth, high)
	d.line(`<title id="title">The rooms of Portico by floors, and the way of a PUT of a tracked resource through them</title>`)
	d.line(pictureStyle)
	d.line(`<rect class="paper" width="100%%" height="100%%"/>`)
	d.say("head", leftOfBoxes, 26, "Portico's rooms: each imports only what lies on floors below its own")
	d.say("soft", leftOfBoxes, 46, "In colour, with numbers: the way of a PUT that is passed on to a provider.")
	for h, floor := range floors {
		y := float64(onTop + (len(floors)-1-h)*(boxHeight+gapY))
		d.line(`<line class="floor" x1="%d" y1="%g" x2="%d" y2="%g"/>`, leftOfBoxes-22, y+boxHeight+gapY/2, pictureWidth-12, y+boxHeight+gapY/2)
		d.say("soft", leftOfBoxes-20, y+boxHeight/2+4, strconv.Itoa(h))
		for room, column := range columnsOf(floor) {
			d.places[room] = place{float64(leftOfBoxes + column*(boxWidth+gapX)), y}
		}
	}
	d.drawWay()
	for _, room := range slices.Sorted(maps.Keys(rooms)) {
		d.drawRoom(room, slices.Sorted(maps.Keys(rooms[room])))
	}
	for i, step := range way {
		at := d.places[step.room]
		d.badge(at.x+boxWidth-3-float64(d.badges[step.room])*2.2*badge, at.y, i+1)
		d.badges[step.room]++
	}
	d.drawSteps(float64(high))
	d.line("</svg>")
	return d.String()
}

// columnsOf gives the rooms of a floor their columns.
func columnsOf(floor []string) map[string]int {
	columns, taken := map[string]int{}, map[int]bool{}
	for _, step := range way {
		if slices.Contains(floor, step.room) {
			columns[step.room], taken[step.column] = step.column, true
		}
	}
	for _, room := range floor {
		if _, placed := columns[room]; placed {
			continue
		}
		i := slices.IndexFunc(otherColumns, func(column int) bool { return !taken[column] })
		columns[room], taken[otherColumns[i]] = otherColumns[i], true
	}
	return columns
}

// drawWay joins the rooms of the way, behind them. Where it goes far down, it goes aside
// first, so that the line is seen between the rooms.
func (d *drawing) drawWay() {
	const far = 4 * (boxHeight + gapY)
	var at []string
	last := place{}
	for i, step := range way {
		p := d.places[step.room]
		if i > 0 && p.y > last.y+far {
			at = append(at, fmt.Sprintf("%g %g", p.x+boxWidth/2, last.y+boxHeight/2))
		}
		at, last = append(at, fmt.Sprintf("%g %g", p.x+boxWidth/2, p.y+boxHeight/2)), p
	}
	d.line(`<path class="way" stroke-linejoin="round" d="M%s"/>`, strings.Join(at, " L"))
}

func (d *drawing) drawRoom(room string, imports []string) {
	at, class := d.places[room], "box"
	for _, step := range way {
		if step.room == room {
			class = "box lit"
		}
	}
	what := "imports nothing of Portico's"
	if len(imports) > 0 {
		what = "imports " + strings.Join(imports, ", ")
	}
	d.line(`<g><title>%s %s</title><rect class="%s" x="%g" y="%g" width="%d" height="%d" rx="6"/>`, room, what, class, at.x, at.y, boxWidth, boxHeight)
	d.say("name", at.x+8, at.y+18, room)
	d.say("says", at.x+8, at.y+32, captions[room])
	d.line(`</g>`)
}

// drawSteps lists the steps of the way, in two columns, where the lowest floors leave room.
func (d *drawing) drawSteps(high float64) {
	const left, aside, column = leftOfBoxes + 3*(boxWidth+gapX), 18, 366
	rows := (len(way) + 1) / 2
	y := high - float64(rows)*stepHeight - 22
	d.line(`<rect class="box" x="%d" y="%g" width="%d" height="%d" rx="6"/>`, left, y-18, pictureWidth-left-12, rows*stepHeight+14)
	for i, step := range way {
		x, at := float64(left+18+i/rows*column), y+float64(i%rows*stepHeight)+2
		d.badge(x, at, i+1)
		d.say("name", x+aside, at+4, step.room)
		d.say("soft", x+aside+126, at+4, step.does)
	}
}

// The picture of the rooms is what the imports say.
func TestPictureOfTheRoomsIsCurrent(t *testing.T) {
	rooms := readRooms(t)
	floors := floorsOf(t, rooms)
	for room := range rooms {
		if n := len(captions[room]); n == 0 || n > longestCaption {
			t.Errorf("the picture says %q of the room %s, not 1 to %d letters", captions[room], room, longestCaption)
		}
	}
	for room := range captions {
		if rooms[room] == nil {
			t.Errorf("there is no room %s", room)
		}
	}
	for _, step := range way {
		if rooms[step.room] == nil {
			t.Fatalf("the way leads through %s, and there is no such room", step.room)
		}
	}
	want, file := draw(rooms, floors), filepath.Join(root, roomsPicture)
	if *updatePicture {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s is not what the imports say: go test ./test/docs -run Picture -update (%v)", roomsPicture, err)
	}
}
