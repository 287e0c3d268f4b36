package template_test

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"portico/template"
	"portico/template/document"
)

// processorTime returns what the thread has used: other processes do not count.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	const ofThread = 3 // CLOCK_THREAD_CPUTIME_ID
	var now syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, ofThread, uintptr(unsafe.Pointer(&now)), 0); errno != 0 {
		t.Fatal(errno)
	}
	return time.Duration(now.Nano())
}

// doubled are the members of variables of which the last, s, is a text of 4 MiB.
func doubled() string {
	var b strings.Builder
	b.WriteString(`"s0":"aAaAaAaAaAaAaAaA",`)
	for i := range 17 {
		fmt.Fprintf(&b, `"s%d":"[concat(variables('s%d'), variables('s%d'))]",`, i+1, i, i)
	}
	return b.String() + `"s":"[concat(variables('s17'), variables('s17'))]"`
}

// Templates of few bytes that would take a core for long are refused as soon as one that calls a
// cheap function until its budget is spent.
func TestWhatATemplateAsksForIsCharged(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	each := func(body string) string {
		return `"[length(map(range(0,10000), lambda('i', length(map(range(0,10000), lambda('j', ` + body + `))))))]"`
	}
	variables := func(body string) string { return `"variables":{` + doubled() + `,"x":` + body + `},"resources":[]` }
	function := func(parameter, argument string) string {
		return `"functions":[{"namespace":"n","members":{"f":{"parameters":[{"name":"p",` + parameter + `}],"output":{"type":"int","value":1}}}}],` +
			`"definitions":{` + references(60) + `"d60":{"type":"int"}},"variables":{` + doubled() + `,"a":` + argument + `,"x":` + each("n.f(variables('a'))") + `},"resources":[]`
	}
	loop := func(name, member string) string {
		return `{"type":"A.B/c","apiVersion":"2024-01-01","name":"` + name + `","copy":{"name":"l","count":400},` + member + `}`
	}
	numbers := strings.TrimSuffix(strings.Repeat("1,", 50_000), ",")
	long := strings.Repeat("aA", 500_000)
	cases := map[string]string{
		"substring":              variables(each("substring(variables('s'), 4000000, 1)")),
		"split":                  variables(each("length(split(variables('s'), createArray('b', 'c', 'd', 'e', 'f')))")),
		"what surrounds it":      variables(each("environment()")),
		"a text of a type":       function(`"type":"string","maxLength":5000000`, `"[variables('s')]"`),
		"a value of those":       function(`"type":"array","allowedValues":[`+numbers+`,2]`, `"[map(range(0, 1000), lambda('i', 2))]"`),
		"elements of a type":     function(`"type":"array","prefixItems":[{"type":"int"}]`, `[`+numbers+`]`),
		"types that refer":       function(`"$ref":"#/definitions/d0"`, `1`),
		"a type of a long name":  function(`"type":"object","properties":{"`+long+`":{"type":"object","properties":{"a":{"type":"int"},"b":{"type":"int"}}}}`, `{"`+long+`":{"a":1,"b":2}}`),
		"answers of a loop":      `"resources":[` + loop("[concat('a', copyIndex())]", `"properties":{}`) + `,{"type":"A.B/c","apiVersion":"2024-01-01","name":"z","properties":{"x":` + each("references('l')") + `}}]`,
		"a loop by its name":     `"resources":[` + loop("[concat('a', copyIndex())]", `"properties":{}`) + `,` + strings.Replace(loop("[concat('b', copyIndex())]", `"dependsOn":"[map(range(0, 10000), lambda('i', 'l'))]"`), `"l"`, `"m"`, 1) + `]`,
		"no such resource":       `"resources":[` + loop("[concat('"+strings.Repeat("a", 20_000)+"', copyIndex())]", `"dependsOn":["`+strings.Repeat("b", 20_000)+`"]`) + `]`,
		"no such short one":      `"resources":[` + loop("[concat('"+strings.Repeat("a", 50)+"', copyIndex())]", `"dependsOn":["[concat('`+strings.Repeat("b", 50)+`', copyIndex())]"]`) + `]`,
		"names in a loop":        `"variables":{"copy":[{"name":"a","count":800,"input":{"copy":[{"name":"b","count":800,"input":{"` + long + `":"[copyIndex('a')]"}}]}}]},"resources":[]`,
		"a long text in a fault": `"variables":{` + doubled() + `},"resources":[` + loop("[concat('a', copyIndex())]", `"dependsOn":["[concat(variables('s16'), copyIndex())]"]`) + `]`,
		"what is waited for": `"variables":{` + doubled() + `},"resources":[` + loop("[concat('a', copyIndex())]",
			`"properties":{"copy":[{"name":"p","count":"[length(reference(concat('/', variables('s16')), '1'))]","input":1}]}`) + `]`,
	}
	cheap := time.Duration(0)
	for range 3 {
		took := timeOf(t, `{`+head+`,`+variables(each("add(lambdaVariables('j'), 1)"))+`}`)
		if cheap == 0 || took < cheap {
			cheap = took
		}
	}
	for what, text := range cases {
		least := 0.0
		for try := 0; try < 4 && (try == 0 || least >= mostDear); try++ {
			if ratio := float64(timeOf(t, `{`+head+`,`+text+`}`)) / float64(cheap); try == 0 || ratio < least {
				least = ratio
			}
		}
		if least >= mostDear {
			t.Errorf("%s is refused in a time that is %.0f times that of cheap calls", what, least)
		}
		t.Logf("%s: %.1f", what, least)
	}
}

// mostDear is how many times as long a template may take that does one thing as one that calls
// a cheap function, until both have spent their budgets.
const mostDear = 25

// references are definitions of types, each of which refers to the next one.
func references(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"$ref":"#/definitions/d%d"},`, i, i+1)
	}
	return b.String()
}

// timeOf returns what it takes to refuse a template.
func timeOf(t *testing.T, text string) time.Duration {
	t.Helper()
	d, faults := document.Read([]byte(text), document.Strict, template.Code)
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}
	from := processorTime(t)
	_, faults, err := template.Expand(t.Context(), input(d.Root))
	took := processorTime(t) - from
	if err != nil || len(faults) == 0 {
		t.Fatalf("%.100s is not refused: %v", text, err)
	}
	for _, fault := range faults {
		if len(fault.Message) > 5000 {
			t.Errorf("a fault of %d bytes", len(fault.Message))
		}
	}
	if testing.Verbose() {
		t.Logf("%v %d faults, the last one %.150s", took, len(faults), faults[len(faults)-1].Message)
	}
	return took
}
