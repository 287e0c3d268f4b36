package function_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"portico/template/expr"
	"portico/template/function"
)

const (
	value = " → "
	fault = " ✗ "
)

// vector is a line of testdata/vectors.txt.
type vector struct {
	line               int
	expression         string
	value, fault, name string
	secret             bool
}

func vectors(t testing.TB) []vector {
	t.Helper()
	file, err := os.Open("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []vector
	lines := bufio.NewScanner(file)
	for n, open := 1, ""; lines.Scan(); n++ {
		text := open + lines.Text()
		open = ""
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		v := vector{line: n}
		v.name, _, _ = strings.Cut(text, "(")
		switch {
		case strings.Contains(text, value):
			v.expression, v.value, _ = strings.Cut(text, value)
			v.value, v.secret = strings.CutSuffix(v.value, " secret")
		case strings.Contains(text, fault):
			v.expression, v.fault, _ = strings.Cut(text, fault)
		default: // its string has a line break
			open = text + "\n"
			continue
		}
		all = append(all, v)
	}
	return all
}

// library has two functions more than the library.
type library struct{}

func (library) Find(_, name string) *expr.Function {
	switch name {
	case "secret":
		return &expr.Function{Name: name, Call: func(*expr.Call, []expr.Value) (expr.Value, error) { return expr.StringOf("s3cret").AsSecure(), nil }}
	case "answer":
		return &expr.Function{Name: name, Call: func(*expr.Call, []expr.Value) (expr.Value, error) { return expr.PendingOf(expr.Invoke("answer")), nil }}
	}
	return function.Find(name)
}

func (library) Names(string) []string { return function.Names() }

func environment() *expr.Env {
	return &expr.Env{
		Library: library{}, Budget: expr.NewBudget(context.Background(), 300_000, 16<<20, 100), Defaults: true,
		Scope:   expr.Scope{Tenant: "1a2b3c4d-6d17-4ad7-b507-16d9bc498781", Subscription: "87d64d6d-6d17-4ad7-b507-16d9bc498781", Group: "testRg"},
		Now:     time.Date(2019, 3, 5, 17, 53, 18, 0, time.UTC),
		NewGUID: func() string { return "00000000-0000-4000-8000-000000000001" },
	}
}

func evaluate(env *expr.Env, text string) (expr.Value, error) {
	n, err := expr.Parse("[" + text + "]")
	if err != nil {
		return expr.Value{}, err
	}
	return expr.Evaluate(n, env)
}

func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		got, err := evaluate(environment(), v.expression)
		switch {
		case v.fault != "" && err == nil:
			t.Errorf("line %d: %s is %s, want the fault %q", v.line, v.expression, got.JSON(), v.fault)
		case v.fault != "" && !strings.Contains(err.Error(), v.fault):
			t.Errorf("line %d: %s: %v, want %q", v.line, v.expression, err, v.fault)
		case v.fault == "" && err != nil:
			t.Errorf("line %d: %s: %v", v.line, v.expression, err)
		case v.fault == "" && got.JSON() != v.value:
			t.Errorf("line %d: %s is %s, want %s", v.line, v.expression, got.JSON(), v.value)
		case got.Secure() != v.secret:
			t.Errorf("line %d: %s is a secret: %t", v.line, v.expression, got.Secure())
		}
	}
}

// Every function has vectors for its values, for too few or too many arguments, and for
// each argument of a wrong kind.
func TestEveryFunctionHasVectors(t *testing.T) {
	has := map[string]bool{}
	for _, v := range vectors(t) {
		has[v.name+value] = has[v.name+value] || v.fault == ""
		has[v.name+" "+v.fault] = true
		if before, _, ok := strings.Cut(v.fault, ","); ok {
			has[v.name+" "+before] = true
		}
		if strings.HasPrefix(v.fault, "takes ") {
			has[v.name+" takes"] = true
		}
	}
	for _, name := range function.Names() {
		f := function.Find(strings.ToUpper(name))
		if f == nil || f.Name != name {
			t.Fatalf("%s is not found", name)
		}
		if !has[name+value] && name != "fail" {
			t.Errorf("%s has no vector of a value", name)
		}
		if (f.Min > 0 || f.Max >= 0) && !has[name+" takes"] {
			t.Errorf("%s has no vector of a wrong count", name)
		}
		for i, p := range f.Params {
			wanted := " wants its argument " + string(rune('1'+i))
			if p.Kinds&expr.Any != expr.Any && !has[name+wanted] {
				t.Errorf("%s has no vector of a wrong kind: %q", name, wanted)
			}
		}
	}
}

// What a template writes down in few letters may not take more than its budget allows.
func TestBudgetHolds(t *testing.T) {
	big := "range(0, 10000)"
	for _, bomb := range []string{
		"map(" + big + ", lambda('i', " + big + "))",
		"reduce(" + big + ", 'x', lambda('a', 'b', concat(lambdaVariables('a'), lambdaVariables('a'))))",
		"reduce(" + big + ", createArray(1), lambda('a', 'b', concat(lambdaVariables('a'), lambdaVariables('a'))))",
		"reduce(" + big + ", 'x', lambda('a', 'b', replace(lambdaVariables('a'), 'x', 'xx')))",
		"reduce(" + big + ", 'x', lambda('a', 'b', format('{0}{0}{0,999999}', lambdaVariables('a'))))",
		"reduce(" + big + ", 'x', lambda('a', 'b', join(createArray(lambdaVariables('a'), lambdaVariables('a')), 'y')))",
		"reduce(" + big + ", createObject(), lambda('a', 'b', createObject('a', lambdaVariables('a'), 'b', lambdaVariables('a'))))",
		"reduce(" + big + ", createObject(), lambda('a', 'b', union(lambdaVariables('a'), createObject('a', lambdaVariables('a'), string(lambdaVariables('b')), lambdaVariables('a')))))",
		"reduce(" + big + ", 'x', lambda('a', 'b', string(createArray(lambdaVariables('a'), lambdaVariables('a')))))",
		"reduce(" + big + ", 'x', lambda('a', 'b', uriComponent(concat('%', lambdaVariables('a')))))",
		"reduce(" + big + ", 'x', lambda('a', 'b', base64(concat(lambdaVariables('a'), lambdaVariables('a')))))",
		"reduce(" + big + ", 'x', lambda('a', 'b', dataUri(createArray(lambdaVariables('a')))))",
		"map(" + big + ", lambda('i', sort(" + big + ", lambda('x', 'y', less(lambdaVariables('x'), lambdaVariables('y'))))))",
		"map(" + big + ", lambda('i', union(" + big + ", " + big + ")))",
		"map(" + big + ", lambda('i', format('{0,999999}', 1)))",
		"map(" + big + ", lambda('i', split('" + strings.Repeat("a,", 5000) + "', ',')))",
		"map(" + big + ", lambda('i', items(toObject(" + big + ", lambda('k', string(lambdaVariables('k')))))))",
		"map(" + big + ", lambda('i', contains(" + big + ", 'x')))",
		"map(" + big + ", lambda('i', json('[" + strings.Repeat("1,", 5000) + "1]')))",
		"map(" + big + ", lambda('i', flatten(createArray(" + big + ", " + big + "))))",
	} {
		began := time.Now()
		v, err := evaluate(environment(), bomb)
		if !errors.Is(err, expr.ErrBudget) {
			t.Errorf("%.80s is a value of %d bytes (%v)", bomb, v.Size(), err)
		}
		if took := time.Since(began); testing.Verbose() {
			t.Logf("%v %.60s", took, bomb)
		}
	}
}
