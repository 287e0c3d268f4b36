package function_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"portico/template/expr"
	"portico/template/function"
)

// word is in every secret of the tests, and in nothing else. A function that changes its casing
// does not hide it.
const word = "zebra"

// secretsOfKinds are secrets, among them what no function can read as a number, a date, an ID, an
// address or JSON, and what one nearly can.
func secretsOfKinds() []expr.Value {
	object := expr.ObjectOf(expr.Member{Name: word, Value: expr.StringOf(word)})
	all := []expr.Value{expr.ArrayOf(expr.StringOf(word), expr.StringOf(word)), object, expr.ArrayOf(object)}
	for _, text := range []string{word, word + "/" + word, "{\"" + word + "\":", "10.0.0.0/" + word, "2020-01-01T" + word, "{9" + word + "}", "%zz" + word, "/subscriptions/" + word} {
		all = append(all, expr.StringOf(text))
	}
	all = append(all, expr.IntOf(-736251), expr.IntOf(736251), expr.BoolOf(true), expr.Value{})
	for i := range all {
		all[i] = all[i].AsSecure()
	}
	return all
}

// plainArguments are expressions for the other arguments: some let the function go on to the
// secret one, and some do not.
var plainArguments = []string{"'a'", "''", "'2020-01-01'", "0", "-5", "true()", "createArray()", "createArray('a', 'b')",
	"createObject('a', 1)", "null()", "lambda('x', lambdaVariables('x'))", "lambda('x', 'y', true())"}

func tells(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, word) || strings.Contains(text, "736251")
}

// No function quotes a secret in its error, whichever argument it is, and whether it comes as one
// or out of a lambda. The functions are those that the library and the evaluation have.
func TestNoErrorQuotesASecret(t *testing.T) {
	t.Parallel()
	failed, checked := map[string]bool{}, 0
	now := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	env := func() *expr.Env {
		return &expr.Env{Library: library{}, Budget: expr.NewBudget(t.Context(), 100_000, 8<<20, 64), Now: now, NewGUID: func() string { return "00000000-0000-0000-0000-000000000000" }, Defaults: true}
	}
	try := func(name string, n expr.Node) {
		checked++
		v, err := expr.Evaluate(n, env())
		switch {
		case err != nil:
			failed[name] = true
			if tells(err.Error()) {
				t.Errorf("%s: %v", expr.Print(n), err)
			}
		case tells(v.JSON()) && !v.Secure():
			t.Errorf("%s is no secret: %s", expr.Print(n), v.JSON())
		}
	}
	for _, name := range append(slices.Clone(function.Names()), "if", "and", "or", "coalesce", "lambdaVariables") {
		most := 3
		if f := function.Find(name); f != nil && f.Max >= 0 {
			most = min(f.Max, 3)
		}
		for at := range most {
			for _, secret := range secretsOfKinds() {
				for i, plain := range plainArguments {
					other := parse(t, plainArguments[(i+1)%len(plainArguments)])
					args := []expr.Node{parse(t, plain), other, parse(t, plain)}[:most]
					lambda := invocation("lambda", &expr.Literal{Value: expr.StringOf("x")}, &expr.Literal{Value: secret})
					for n := at + 1; n <= most; n++ {
						for _, args[at] = range []expr.Node{&expr.Literal{Value: secret}, lambda} {
							try(name, invocation(name, args[:n]...))
						}
					}
				}
			}
		}
	}
	for _, of := range append(secretsOfKinds(), expr.ObjectOf(), expr.ArrayOf(), expr.StringOf("x")) {
		for _, key := range secretsOfKinds() {
			_, err := expr.Evaluate(element(t, of, key), env())
			if err != nil && tells(err.Error()) {
				t.Error(err)
			}
		}
	}
	if len(failed) < 60 {
		t.Errorf("%d functions have failed in %d calls", len(failed), checked)
	}
}

func parse(t *testing.T, text string) expr.Node {
	t.Helper()
	n, err := expr.Parse("[" + text + "]")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func invocation(name string, args ...expr.Node) expr.Node {
	return &expr.Invocation{Name: name, Args: args}
}

func element(t *testing.T, of, key expr.Value) expr.Node {
	t.Helper()
	n, ok := parse(t, "createArray()[0]").(*expr.Element)
	if !ok {
		t.Fatal("no element")
	}
	n.Of, n.Key = &expr.Literal{Value: of}, &expr.Literal{Value: key}
	return n
}
