package gateway

import (
	"cmp"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"portico/arm"
	"portico/gateway/batch"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/routing"
)

// What a body may cost where it is read: so many times its size, and a little.
const (
	costOfBody    = 4
	costOfAnswer  = 10        // of a provider
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

// bodyReader is one of the ways in which content is read.
type bodyReader struct {
	name string
	cost int // times the size; 0: costOfBody
	read func(content []byte) error
	// templates have a value in their holes, objects the members of an object.
	templates, objects []string
	members            []string // of the objects
}

func bodyReaders(t *testing.T) []bodyReader {
	s := newSite(t, setup{})
	group := func(method, target string) *exchange.Exchange {
		q, fault := routing.Classify(s.gateway.router.Map, method, target, "api-version=2021-04-01")
		if fault != nil {
			t.Fatal(fault)
		}
		return &exchange.Exchange{Request: q}
	}
	inGroup, locked := group("PUT", groupPath("g")), group("PUT", groupPath("g")+"/providers/Microsoft.Authorization/locks/l")
	tagged := httptest.NewRequest(http.MethodPut, "/", nil)
	machine, fault := routing.Classify(s.gateway.router.Map, "PUT", machinePath("g", "m"), "api-version=2024-01-01")
	if fault != nil {
		t.Fatal(fault)
	}
	const one = `{"requests":[{"httpMethod":"GET","url":"/a",%}]}`
	wrap := func(inner string) string { return strings.Replace(one, "%", inner, 1) }
	return []bodyReader{
		{
			name: "batch",
			read: func(content []byte) error {
				requests, fault := batch.Read(content, 500)
				for i := range requests {
					_, _ = requests[i].Target(func(string) bool { return true })
					_, _ = requests[i].Header(http.Header{})
				}
				return errorOf(fault)
			},
			templates: []string{
				`%`, `{"requests":%}`, `{"REQUESTS":%}`, `{"requests":[%]}`, `{"x":%}`, wrap(`"name":%`), wrap(`"content":%`), wrap(`"headers":%`), wrap(`"requestHeaderDictionary":%`),
				wrap(`"requestHeaderDetails":%`), wrap(`"headers":{"a":%}`), `{"requests":[{"httpMethod":%,"url":"/a"}]}`, `{"requests":[{"httpMethod":"GET","url":%}]}`,
				`{"requests":[{"httpMethod":"GET","relativeUrl":%}]}`,
			},
			objects: []string{`{%}`, `{"requests":[{%}]}`},
			members: []string{"requests", "Requests", "name", "httpMethod", "url", "relativeUrl", "content", "headers", "unknown"},
		},
		{
			name: "move",
			read: func(content []byte) error {
				m := &moving{Gateway: s.gateway}
				m.source.Subscription.ID, m.source.Group.Name = subscription, "g"
				return errorOf(m.read(content))
			},
			templates: []string{`%`, `{"targetResourceGroup":"a","resources":%}`, `{"targetResourceGroup":%,"resources":["a"]}`, `{"unknown":%}`,
				`{"targetResourceGroup":"` + groupPath("to") + `","resources":[%]}`},
			objects: []string{`{%}`},
			members: []string{"targetResourceGroup", "resources", "RESOURCES", "unknown"},
		},
		{
			name: "tags",
			read: func(content []byte) error {
				e := s.gateway.readTags(tagged, inGroup, content, groupPath("g"))
				_, err := e.apply(groupPath("g"), nil)
				return err
			},
			templates: []string{`%`, `{"properties":%}`, `{"properties":{"tags":%}}`, `{"properties":{"tags":{"a":%}}}`, `{"operation":%,"properties":{}}`, `{"id":%,"properties":{}}`},
			objects:   []string{`{%}`, `{"properties":{%}}`, `{"properties":{"tags":{%}}}`},
			members:   []string{"properties", "tags", "id", "operation", "unknown"},
		},
		{
			name:      "lock",
			read:      func(content []byte) error { _, err := readLock(locked, content, groupPath("g")); return err },
			templates: []string{`%`, `{"properties":%}`, `{"properties":{"level":%}}`, `{"properties":{"level":"ReadOnly","notes":%}}`, `{"properties":{"level":"ReadOnly","owners":%}}`, `{"name":%}`},
			objects:   []string{`{%}`, `{"properties":{%}}`},
			members:   []string{"properties", "level", "notes", "owners", "id", "unknown"},
		},
		{
			name:      "group",
			read:      func(content []byte) error { _, err := readGroup(inGroup, content, 50); return err },
			templates: []string{`%`, `{"location":%}`, `{"location":"a","tags":%}`, `{"location":"a","managedBy":%}`, `{"properties":%}`, `{"name":%}`, `{"unknown":%}`, `{"properties":{"provisioningState":%}}`},
			objects:   []string{`{%}`, `{"tags":{%}}`, `{"properties":{%}}`},
			members:   []string{"name", "managedBy", "ManagedBy", "properties", "provisioningState", "unknown"},
		},
		{
			name: "name check",
			read: func(content []byte) error {
				return s.gateway.checkResourceName(httptest.NewRecorder(), nil, inGroup, ownCall{content: content})
			},
			templates: []string{`%`, `{"name":%,"type":"a"}`, `{"name":"a","type":%}`},
			objects:   []string{`{%}`},
			members:   []string{"name", "type", "unknown"},
		},
		{
			name: "resource",
			read: func(content []byte) error {
				_, fault := s.gateway.proxy.ReadContent(machine, content)
				return errorOf(fault)
			},
			templates: []string{`%`, `{"location":%}`, `{"tags":%}`, `{"tags":{"a":%}}`, `{"properties":%}`, `{"identity":%}`},
			objects:   []string{`{%}`, `{"tags":{%}}`},
			members:   []string{"location", "tags", "Tags", "properties", "a"},
		},
		{
			name: "any content",
			read: func(content []byte) error { return errorOf(routing.CheckJSON(content)) },
			templates: []string{
				`%`, `{"x":%}`,
			},
		},
		{
			cost:      costOfAnswer,
			name:      "a provider's 404",
			read:      func(content []byte) error { arm.SaysAbsent(content, machinePath("g", "m")); return nil },
			templates: []string{`%`, `{"error":%}`, `{"error":{"code":%}}`, `{"error":{"code":"NotFound","message":%}}`},
			objects:   []string{`{%}`, `{"error":{%}}`},
			members:   []string{"error", "code", "message"},
		},
		{
			cost:      costOfAnswer,
			name:      "a provider's resource",
			read:      func(content []byte) error { inventory.ReadObservation(content); return nil },
			templates: []string{`%`, `{"id":%}`, `{"tags":%}`, `{"kind":%}`, `{"sku":%}`, `{"properties":%}`, `{"properties":{"provisioningState":%}}`},
			objects:   []string{`{%}`, `{"properties":{%}}`, `{"tags":{%}}`},
			members:   []string{"id", "tags", "kind", "sku", "properties", "provisioningState"},
		},
	}
}

func errorOf(fault *arm.Error) error {
	if fault == nil {
		return nil
	}
	return fault
}

// Whatever the form of content is, reading it costs no more than a few times its
// size, and so does the refusal.
func TestReadingABodyCostsLittle(t *testing.T) {
	for _, r := range bodyReaders(t) {
		t.Run(r.name, func(t *testing.T) {
			worst, by := 0.0, ""
			times := cmp.Or(r.cost, costOfBody)
			check := func(shape, body string) {
				content := []byte(body)
				var cost uint64
				for try := 0; try < 10; try++ { // others may allocate meanwhile
					cost = allocated(func() {
						if err := r.read(content); err != nil {
							if fault, ok := reflect.ValueOf(err).Interface().(*arm.Error); ok && len(fault.Body()) > 128<<10 {
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
			for _, template := range r.templates {
				for _, v := range valueShapes {
					check(template+" of "+v.name, bodyOf(template, v.begin, v.each, v.end, sizeOfBody))
				}
			}
			for _, template := range r.objects {
				for _, member := range append(r.members, `unkn\u006fwn`, `#`) {
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
