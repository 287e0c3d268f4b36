package expr_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"portico/template/expr"
	"portico/template/function"
)

// A template's budget.
const (
	allSteps = 1_000_000
	allBytes = 32 << 20
)

// mostDear is how many times as long a budget may last that is spent on one thing as one that
// is spent on calls of a cheap function. What forgets to charge lasts a thousand times as long.
const mostDear = 25

// dear adds a function to the library, which returns one of the values.
type dear struct {
	library
	values []expr.Value
}

func (d dear) Find(namespace, name string) *expr.Function {
	if name != "value" {
		return d.library.Find(namespace, name)
	}
	return &expr.Function{Name: name, Min: 1, Max: 1, Params: []expr.Param{{Name: "at", Kinds: expr.Int}}, Call: func(_ *expr.Call, args []expr.Value) (expr.Value, error) {
		return d.values[args[0].Int()], nil
	}}
}

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

// lasts returns how long a whole budget would last that is spent on an expression, which is
// evaluated until that can be measured.
func lasts(t *testing.T, l dear, n expr.Node) (whole time.Duration, err error) {
	e := env(l.library)
	e.Library, e.Defaults = l, true
	for times := 1; ; times *= 10 {
		spent := 0.0
		from := processorTime(t)
		for range times {
			e.Budget = expr.NewBudget(t.Context(), allSteps, allBytes, 512)
			_, err = expr.Evaluate(n, e)
			steps, bytes := e.Budget.Left()
			if spent += max(1-float64(steps)/allSteps, 1-float64(bytes)/allBytes); errors.Is(err, expr.ErrBudget) {
				spent++
			}
		}
		if took := processorTime(t) - from; took > time.Millisecond/4 || times >= 100 {
			return time.Duration(float64(took) / spent), err
		}
	}
}

func parsed(t *testing.T, text string) expr.Node {
	t.Helper()
	n, err := expr.Parse("[" + text + "]")
	if err != nil {
		t.Fatalf("%.80s: %v", text, err)
	}
	return n
}

// scale measures how dear things are, and remembers the dearest ones.
type scale struct {
	*testing.T
	cheap   time.Duration
	dearest float64
	what    string
}

func newScale(t *testing.T) *scale {
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	s := &scale{T: t}
	n := parsed(t, "map(range(0, 10000), lambda('i', add(lambdaVariables('i'), 1)))")
	for range 5 {
		whole, err := lasts(t, dear{}, n)
		if err != nil {
			t.Fatal(err)
		}
		if s.cheap == 0 || whole < s.cheap {
			s.cheap = whole
		}
	}
	return s
}

// weigh fails if an expression is too dear: measured again, as much may come between.
func (s *scale) weigh(what, text string, l dear) {
	n := parsed(s.T, text)
	least := 0.0
	for try := range 6 {
		whole, _ := lasts(s.T, l, n)
		if ratio := float64(whole) / float64(s.cheap); try == 0 || ratio < least {
			least = ratio
		}
		if least < mostDear {
			break
		}
	}
	if least > s.dearest {
		s.dearest, s.what = least, what
	}
	if least >= mostDear {
		s.Errorf("%s: a budget lasts %.0f times as long as one of cheap calls", what, least)
	}
}

func repeated(part string, bytes int) string { return strings.Repeat(part, bytes/len(part)) }

// pool has values of all kinds: big ones, then small ones. Big are texts of 4 MiB, and others
// by which one or another function may spend more; large arrays; objects of many names, and of
// long ones.
type pool struct {
	values []expr.Value
	big    int
}

func newPool() *pool {
	p := &pool{}
	p.values = append(p.values, expr.StringOf(repeated("aé", 4<<20)))
	for _, part := range []string{"a/", "a/../", "{0:0}", "1", "%20", "d "} {
		p.values = append(p.values, expr.StringOf(repeated(part, 1<<17)))
	}
	p.values = append(p.values, expr.StringOf("["+repeated(`1,`, 1<<18)+"1]"), expr.StringOf("http://a/"+repeated("b", 1<<20)+"/c"), expr.StringOf(repeated("a", 1<<20)+"b"),
		expr.IntOf(16), expr.IntOf(1<<20), expr.FloatOf(5e-324))
	const long = 4000
	integers, texts, objects, members := make([]expr.Value, 50_000), make([]expr.Value, 1000), make([]expr.Value, 1000), make([]expr.Member, 1000)
	for i := range integers {
		integers[i] = expr.IntOf(int64(i))
	}
	for i := range texts {
		name := repeated("x", long) + strconv.Itoa(i)
		members[i] = expr.Member{Name: name, Value: integers[i]}
		texts[i], objects[i] = expr.StringOf(name), expr.ObjectOf(members[i])
	}
	arrays, few, small := make([]expr.Value, 500), make([]expr.Member, 8), make([]expr.Member, 20_000)
	for i := range arrays {
		arrays[i] = expr.ArrayOf(integers[:100]...)
	}
	for i := range few {
		few[i] = expr.Member{Name: repeated("aA", 1<<19) + strconv.Itoa(i), Value: integers[i]}
	}
	for i := range small {
		small[i] = expr.Member{Name: strconv.Itoa(i), Value: integers[i]}
	}
	p.values = append(p.values, expr.ArrayOf(integers...), expr.ArrayOf(texts...), expr.ArrayOf(objects...), expr.ArrayOf(arrays...),
		expr.ObjectOf(few...), expr.ObjectOf(members...), expr.ObjectOf(small...))
	p.big = len(p.values)
	p.values = append(p.values, expr.StringOf("a"), expr.IntOf(1), expr.FloatOf(1.5), expr.BoolOf(true), expr.Value{}, expr.ArrayOf(expr.IntOf(1)), expr.ObjectOf(members[0]))
	return p
}

// choices are the values that an argument may be, as expressions: the big ones and the small ones.
func (p *pool) choices(kinds expr.Kind) (big, small []string) {
	if kinds&expr.Lambda != 0 {
		return lambdas(), lambdas()[:1]
	}
	for at, v := range p.values {
		if v.Is(kinds) {
			text := fmt.Sprintf("value(%d)", at)
			if at < p.big {
				big = append(big, text)
			} else {
				small = append(small, text)
			}
		}
	}
	if len(big) == 0 {
		big = small
	}
	return big, small
}

// lambdas are of one and two variables, so that each function has one that it can call.
func lambdas() (texts []string) {
	for _, names := range []string{"'a'", "'a', 'b'"} {
		for _, body := range []string{"lambdaVariables('a')", "true()", "value(0)"} {
			texts = append(texts, "lambda("+names+", "+body+")")
		}
	}
	return texts
}

// calls calls visit with calls of a function: each argument big beside small ones, and all of
// them big.
func (p *pool) calls(f *expr.Function, visit func(text string)) {
	n := max(f.Min, len(f.Params))
	if f.Max < 0 {
		n = max(n, 3)
	}
	args := make([]string, n)
	call := func(choose func(i int, big, small []string) string) {
		for i := range n {
			big, small := p.choices(f.Param(i).Kinds)
			args[i] = choose(i, big, small)
		}
		visit(f.Name + "(" + strings.Join(args, ", ") + ")")
	}
	if n == 0 {
		visit(f.Name + "()")
	}
	for at := range n {
		big, _ := p.choices(f.Param(at).Kinds)
		for k := range big {
			if at == 0 && n > 1 {
				call(func(i int, big, _ []string) string { return big[(k+i)%len(big)] })
			}
			call(func(i int, big, small []string) string {
				if i == at {
					return big[k]
				}
				return small[0]
			})
		}
	}
}

// Whatever a function is given, its time is charged before it is spent: a function whose row
// says too little of what it walks through is too dear. Arguments are made of a row's
// parameters, so that each new function is among them.
func TestEveryFunctionChargesForItsTime(t *testing.T) {
	s := newScale(t)
	p := newPool()
	for _, name := range function.Names() {
		p.calls(function.Find(name), func(text string) { s.weigh(text, text, dear{values: p.values}) })
	}
	t.Logf("a budget of cheap calls lasts %v, one of the dearest %.1f times as long: %s", s.cheap, s.dearest, s.what)
}

// The same of small arguments: those that functions have vectors of.
func TestEveryCallChargesForItsTime(t *testing.T) {
	s := newScale(t)
	text, err := os.ReadFile("../function/testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if expression, _, ok := strings.Cut(line, " → "); ok && !strings.Contains(line, "secret()") && !strings.Contains(line, "answer()") {
			if _, err := expr.Parse("[" + expression + "]"); err == nil {
				s.weigh(expression, expression, dear{})
			}
		}
	}
	t.Logf("a budget of cheap calls lasts %v, one of the dearest %.1f times as long: %s", s.cheap, s.dearest, s.what)
}

// What is no function of the library is charged as well.
func TestTheLanguageChargesForItsTime(t *testing.T) {
	s := newScale(t)
	l := dear{values: newPool().values}
	long := repeated("aA", 20_000)
	each := func(body string) string { return "map(range(0, 10000), lambda('i', " + body + "))" }
	for i, v := range l.values {
		at := fmt.Sprintf("value(%d)", i)
		for _, text := range []string{at, at + "." + long, at + "[0]", at + "['" + long + "']"} {
			s.weigh(text, text, l)
		}
		if v.Is(expr.Object) {
			for k, key := range l.values {
				if key.Is(expr.String) {
					s.weigh("a member by its name", fmt.Sprintf("%s[value(%d)]", at, k), l)
				}
			}
		}
	}
	for what, text := range map[string]string{
		"a long variable":       each("map(createArray(1), lambda('" + long[:8000] + "', lambdaVariables('" + strings.ToLower(long[:8000]) + "')))"),
		"many variables":        each("length(createArray(if(true(), 1, map(createArray(), lambda(" + repeated("'a',", 20_000) + "1)))))"),
		"many literals":         each("length(createArray(" + repeated("1,", 20_000) + "1))"),
		"many texts":            each("guid('a'" + repeated(",''", 20_000) + ")"),
		"many empty ones":       each("coalesce(null()" + repeated(",null()", 20_000) + ",1)"),
		"names":                 each("n." + long + "()"),
		"and":                   each("and(true()" + repeated(",true()", 20_000) + ")"),
		"lambdas":               "map(range(0, 10000), lambda('i', filter(range(0, 10000), lambda('j', equals(lambdaVariables('i'), lambdaVariables('j'))))))",
		"a value that is built": "reduce(range(0, 10000), createObject(), lambda('a', 'b', union(lambdaVariables('a'), createObject(string(lambdaVariables('b')), 1))))",
	} {
		s.weigh(what, text, l)
	}
	t.Logf("a budget of cheap calls lasts %v, one of the dearest %.1f times as long: %s", s.cheap, s.dearest, s.what)
}
