// Package bodycost checks that reading a body costs no more than a few times its
// size, and so does refusing it, whatever the form of the body is.
package bodycost

import (
	"cmp"
	"math"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"portico/arm"
)

// What a body may cost where it is read: so many times its size, and a little.
const (
	costOfBody    = 4
	CostOfAnswer  = 10        // of a provider
	littleForBody = 256 << 10 // pools are emptied at random under the race detector
	sizeOfBody    = 96 << 10  // a larger one costs as many times more
)

// A hole in a template is filled until the body has its full size.
const hole = "%"

// valueShapes are values that are written in few bytes and may take many.
var valueShapes = []struct{ name, begin, each, end string }{
	{"objects", `[`, `{},`, `]`},
	{"arrays", `[`, `[],`, `]`},
	{"nulls", `[`, `null,`, `]`},
	{"empty texts", `[`, `"",`, `]`},
	{"short texts", `[`, `"ab",`, `]`},
	{"numbers", `[`, `1,`, `]`},
	{"arrays in arrays", ``, `[`, ``},
	{"objects in objects", ``, `{"a":`, ``},
	{"a member many times", `{`, `"a":"",`, `}`},
	{"members that are numbers", `{`, `"a":1,`, `}`},
	{"members that are lists", `{`, `"a":["",""],`, `}`},
	{"members with escaped names", `{`, `"\u0061":"",`, `}`},
	{"members in two casings", `{`, `"a":"","A":"",`, `}`},
	{"different members", `{`, `"#":"",`, `}`},
	{"members with long names", `{`, `"#` + strings.Repeat("x", 600) + `":"",`, `}`},
	{"list in a member", `{"a":[`, `"",`, `]}`},
	{"a long name", `{"`, `n`, `":""}`},
	{"a long escaped name", `{"`, `\u0000`, `":""}`},
	{"a long text", `"`, `x`, `"`},
	{"a long text that is escaped to be shown", `"`, `<`, `"`},
	{"a long escaped text", `"`, `\u0000`, `"`},
	{"a long text with one escape", `"\n`, `x`, `"`},
	{"a long number", ``, `9`, ``},
	{"spaces", `[`, ` `, `]`},
	{"a fault at the end", `[`, `{},`, `x`},
}

// repeated are values of a member that occurs many times.
var repeated = []string{`"ab"`, `1`, `null`, `{}`, `[]`, `{"a":""}`}

// bodyOf fills the hole of a template.
func bodyOf(template, begin, each, end string, size int) string {
	head, tail, _ := strings.Cut(template, hole)
	var b strings.Builder
	b.Grow(size + 1024)
	b.WriteString(head + begin)
	room := size - b.Len() - len(each) - len(end) - len(tail)
	if before, after, numbered := strings.Cut(each, "#"); numbered {
		for i := 0; b.Len() < room; i++ {
			b.WriteString(before + strconv.Itoa(i) + after)
		}
	} else {
		b.WriteString(strings.Repeat(each, room/len(each)))
	}
	text := b.String()
	if strings.HasSuffix(each, ",") {
		text = strings.TrimSuffix(text, ",")
	}
	return text + end + tail
}

// Reader is one of the ways in which content is read.
type Reader struct {
	Name string
	Cost int // times the size; 0: that of a client's body
	Read func(content []byte) error
	// Templates have a value in their holes, objects the members of an object.
	Templates, Objects []string
	Members            []string // of the objects
}

// ErrorOf is the error of a fault that may be nil.
func ErrorOf(fault *arm.Error) error {
	if fault == nil {
		return nil
	}
	return fault
}

// Check reads bodies of many forms by each of the readers.
func Check(t *testing.T, readers []Reader) {
	t.Helper()
	for _, r := range readers {
		t.Run(r.Name, func(t *testing.T) {
			worst, by := 0.0, ""
			times := cmp.Or(r.Cost, costOfBody)
			check := func(shape, body string) {
				content := []byte(body)
				var cost uint64
				for try := 0; try < 10; try++ { // others may allocate meanwhile
					cost = allocated(func() {
						if err := r.Read(content); err != nil {
							if fault, ok := reflect.TypeAssert[*arm.Error](reflect.ValueOf(err)); ok && len(fault.Body()) > 128<<10 {
								t.Errorf("%s: the refusal takes %d bytes", shape, len(fault.Body()))
							}
						}
					})
					if cost <= uint64(times*len(content)+littleForBody) {
						break
					}
				}
				if each := float64(cost) / float64(len(content)); each > worst {
					worst, by = math.Round(each*10)/10, shape
				}
				if cost > uint64(times*len(content)+littleForBody) {
					t.Errorf("%s: %d bytes cost %d", shape, len(content), cost)
				}
			}
			for _, template := range r.Templates {
				for _, v := range valueShapes {
					check(template+" of "+v.name, bodyOf(template, v.begin, v.each, v.end, sizeOfBody))
				}
			}
			for _, template := range r.Objects {
				for _, member := range append(r.Members, `unkn\u006fwn`, `#`) {
					for _, v := range repeated {
						each := `"` + member + `":` + v + `,`
						check(template+" with many "+each, bodyOf(template, "", each, "", sizeOfBody))
					}
				}
			}
			t.Logf("at most %v times the size: %s", worst, by)
		})
	}
}

// allocated is how much is allocated meanwhile.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
