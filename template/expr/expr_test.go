package expr_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"portico/template/expr"
	"portico/template/function"
)

// library has the functions of templates, and ask: its answer is there once answered is.
type library struct{ answered bool }

func (l library) Find(_, name string) *expr.Function {
	if !strings.EqualFold(name, "ask") {
		return function.Find(name)
	}
	return &expr.Function{Name: "ask", Min: 1, Max: 1, Params: []expr.Param{{Name: "what", Kinds: expr.Any}}, Deploying: true,
		Call: func(c *expr.Call, args []expr.Value) (expr.Value, error) {
			if !l.answered {
				return expr.PendingOf(expr.Invoke(c.Name, args...)), nil
			}
			return args[0], nil
		}}
}

func (library) Names(string) []string { return append(function.Names(), "ask") }

func env(l library) *expr.Env {
	return &expr.Env{Library: l, Budget: expr.NewBudget(context.Background(), 1_000_000, 32<<20, 512), Now: time.Unix(0, 0), NewGUID: func() string { return "" }}
}

func evaluate(t testing.TB, text string, l library) (expr.Value, error) {
	t.Helper()
	n, err := expr.Parse(text)
	if err != nil {
		return expr.Value{}, err
	}
	return expr.Evaluate(n, env(l))
}

func TestEvaluation(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`['it''s']`:                 `"it's"`,
		"[ concat ( 'a' ,\n'b' ) ]": `"ab"`,
		`[createObject('A', 1).a]`:  `1`,
		`[createObject('a b', createArray(1, 2))['A B'][1]]`:                                      `2`,
		`[-9223372036854775808]`:                                                                  `-9223372036854775808`,
		`[if(true(), 1, fail('no'))]`:                                                             `1`,
		`[if(ask(true()), concat('a', 'b'), div(1, 0))]`:                                          `"[if(ask(true()),'ab',fail('the template function ''div'': the result is no integer of 64 bits'))]"`,
		`[or(false(), true(), fail('no'))]`:                                                       `true`,
		`[and(true(), false(), fail('no'))]`:                                                      `false`,
		`[and(true(), ask(true()), not(false()))]`:                                                `"[and(ask(true()),true())]"`,
		`[coalesce(null(), 'a', fail('no'))]`:                                                     `"a"`,
		`[createObject('a', ask(1), 'b', 2)]`:                                                     `{"a":"[ask(1)]","b":2}`,
		`[createObject('a', ask(1), 'b', 2).b]`:                                                   `2`,
		`[concat('a', ask('b').c[add(1, 1)])]`:                                                    `"[concat('a',ask('b').c[2])]"`,
		`[createArray(1, 2)[ask(0)]]`:                                                             `"[createArray(1,2)[ask(0)]]"`,
		`[map(createArray(1, 2), lambda('i', ask(lambdaVariables('i'))))]`:                        `["[ask(1)]","[ask(2)]"]`,
		`[map(ask(createArray()), lambda('i', concat(string(add(1, 1)), lambdaVariables('i'))))]`: `"[map(ask(createArray()),lambda('i',concat('2',lambdaVariables('i'))))]"`,
		`[map(createArray(1), lambda('i', map(createArray(2), lambda('j', add(lambdaVariables('i'), lambdaVariables('j'))))))]`: `[[3]]`,
	} {
		v, err := evaluate(t, text, library{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := v.JSON(); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func TestFaultsOfExpressionsNameTheirPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[]`:                          "1: the expression ends where a function, a string in single quotes or an integer is expected",
		`[a]`:                         "2: the expression ends where '(' is expected",
		`[a()) ]`:                     "4: the expression has ')' where the end of the expression is expected",
		`[concat('a' 'b')]`:           "12: the expression has '\\'' where ',' or ')' is expected",
		`[concat('é).x]`:              "8: the string that begins here has no closing quote",
		`[concat(é)]`:                 "8: the expression has 'é' where a function, a string in single quotes or an integer is expected",
		`[9223372036854775808]`:       "1: the integer does not fit into 64 bits",
		`[1.5]`:                       "1: expressions have no numbers with a fraction; write json('1.5')",
		`[-]`:                         "1: '-' without digits behind it is no integer",
		`[string(1).]`:                "11: the expression ends where a property's name is expected",
		`[string(1)[0]`:               "12: the expression ends where ']' is expected",
		`[string(1)[0]]`:              "10: a value of kind String has no elements that an index of kind Integer selects",
		`[concat('a', lengt(1))]`:     "13: the template function 'lengt' is not known; did you mean 'length'?",
		`[contoso.f()]`:               "1: the template function 'contoso.f' is not known",
		`[toUpper()]`:                 "1: the template function 'toUpper' takes 1 argument, and 0 are given",
		`[toUpper(1)]`:                "1: the template function 'toUpper' wants its argument 1, text, as String, and is given Integer",
		`[if(1, 2, 3)]`:               "1: the template function 'if' wants its argument 1 as Boolean, and is given Integer",
		`[if(true())]`:                "1: the template function 'if' takes 3 arguments, and 1 are given",
		`[lambdaVariables('x')]`:      "1: no lambda around the expression has the variable 'x'",
		`[null().a]`:                  "8: the property 'a' cannot be taken of a value of kind Null",
		`[createObject('b', 1)['a']]`: "21: the object has no property 'a'; its properties are 'b'",
	} {
		_, err := evaluate(t, text, library{})
		fault := &expr.Error{}
		if !errors.As(err, &fault) {
			t.Errorf("%s: %v", text, err)
		} else if got := fmt.Sprintf("%d: %s", fault.Offset, fault.Message); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func TestBracketsEscape(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"[[a]": "[a]", "[[": "[", "[a": "[a", "a]": "a]", "": "", "[": "["} {
		if got, isExpression := expr.Text(text); got != want || isExpression {
			t.Errorf("%q is %q, %v", text, got, isExpression)
		}
	}
	if _, isExpression := expr.Text("[a()]"); !isExpression {
		t.Error("an expression is a text")
	}
}

// What comes of a secret is one, and what only stands beside one is not.
func TestSecretsMarkWhatIsBuiltFromThem(t *testing.T) {
	t.Parallel()
	secret := expr.ObjectOf(expr.Member{Name: "s", Value: expr.StringOf("x").AsSecure()}, expr.Member{Name: "p", Value: expr.StringOf("y")})
	for text, want := range map[string]bool{
		`[secret().s]`: true, `[secret().p]`: false, `[concat('a', secret().s)]`: true, `[createObject('a', secret().s, 'b', 1).b]`: false,
		`[if(equals(secret().s, 'x'), 1, 2)]`: true, `[string(secret())]`: true, `[ask(secret().s)]`: true, `[concat(ask('a'), secret().s)]`: true,
		`[map(createArray(secret().s), lambda('i', concat('a', lambdaVariables('i'))))[0]]`: true, `[createArray(1, 2)[if(equals(secret().s, 'x'), 0, 1)]]`: true,
		`[coalesce(null(), secret().s)]`: true, `[if(ask(true()), secret().s, 'b')]`: true,
	} {
		n, err := expr.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		l := withSecret{secret: secret}
		e := env(library{})
		e.Library = l
		v, err := expr.Evaluate(n, e)
		if err != nil || v.Secure() != want {
			t.Errorf("%s is a secret: %v, %v", text, v.Secure(), err)
		}
		if v.Known() {
			continue
		}
		e.Library = withSecret{library{answered: true}, secret}
		if done, err := expr.Finish(v, e); err != nil || done.Secure() != want {
			t.Errorf("%s is a secret once it is answered: %v, %v", text, done.Secure(), err)
		}
	}
}

type withSecret struct {
	library
	secret expr.Value
}

func (l withSecret) Find(namespace, name string) *expr.Function {
	if name == "secret" {
		return &expr.Function{Name: name, Call: func(*expr.Call, []expr.Value) (expr.Value, error) { return l.secret, nil }}
	}
	return l.library.Find(namespace, name)
}

// A fault says nothing of a secret that the expression has.
func TestFaultsKeepSecrets(t *testing.T) {
	t.Parallel()
	secret := expr.ObjectOf(expr.Member{Name: "s", Value: expr.StringOf("tok3n").AsSecure()})
	for _, text := range []string{`[fail(secret().s)]`, `[json(secret().s)]`, `[secret()[secret().s]]`, `[createObject('a', 1)[secret().s]]`, `[int(secret().s)]`,
		`[resourceId(secret().s, 'a')]`, `[createObject(secret().s, 1, 'b')]`, `[createObject(secret().s, 1).x]`} {
		n, err := expr.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		e := env(library{})
		e.Library = withSecret{secret: secret}
		if _, err = expr.Evaluate(n, e); err == nil || strings.Contains(err.Error(), "tok3n") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What waits for an answer means the scope in which it was written.
func TestWhatWaitsKeepsItsScope(t *testing.T) {
	t.Parallel()
	const zero, one = "00000000-0000-0000-0000-000000000000", "11111111-1111-1111-1111-111111111111"
	for text, want := range map[string]string{
		`[resourceId('A.B/c', ask('n'))]`:                     "/subscriptions/" + zero + "/resourceGroups/g/providers/A.B/c/n",
		`[resourceId('h', 'A.B/c', ask('n'))]`:                "/subscriptions/" + zero + "/resourceGroups/h/providers/A.B/c/n",
		`[resourceId('` + one + `', 'A.B/c', ask('n'))]`:      "/subscriptions/" + one + "/resourceGroups/g/providers/A.B/c/n",
		`[resourceId(ask('` + one + `'), 'h', 'A.B/c', 'n')]`: "/subscriptions/" + one + "/resourceGroups/h/providers/A.B/c/n",
		`[subscriptionResourceId('A.B/c', ask('n'))]`:         "/subscriptions/" + zero + "/providers/A.B/c/n",
	} {
		n, err := expr.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		e := env(library{})
		e.Scope = expr.Scope{Subscription: zero, Group: "g"}
		part, err := expr.Evaluate(n, e)
		if err != nil || part.Known() {
			t.Fatalf("%s: %s, %v", text, part.JSON(), err)
		}
		e = env(library{answered: true})
		e.Scope = expr.Scope{Subscription: "22222222-2222-2222-2222-222222222222", Group: "other"}
		if got, err := expr.Finish(part, e); err != nil || got.Text() != want {
			t.Errorf("%s is %s: %s, %v", text, part.JSON(), got.Text(), err)
		}
	}
}

// Expressions that ask for ever more are refused early.
func TestBombsAreRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nested ranges":  `[map(range(0, 10000), lambda('a', map(range(0, 10000), lambda('b', range(0, 10000)))))]`,
		"nested lambdas": `[map(range(0, 10000), lambda('a', reduce(range(0, 10000), 0, lambda('x', 'y', add(lambdaVariables('x'), 1)))))]`,
		"concat":         `[reduce(range(0, 100), 'x', lambda('x', 'y', concat(lambdaVariables('x'), lambdaVariables('x'))))]`,
		"replace":        `[reduce(range(0, 100), 'xx', lambda('x', 'y', replace(lambdaVariables('x'), 'x', 'xxxxxxxxxx')))]`,
		"shared arrays":  `[reduce(range(0, 1000), createArray(1, 2), lambda('x', 'y', createArray(lambdaVariables('x'), lambdaVariables('x'))))]`,
	} {
		if _, err := evaluate(t, text, library{}); !errors.Is(err, expr.ErrBudget) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestExpressionsAreBounded(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"calls":      "[" + strings.Repeat("string(", 300) + strings.Repeat(")", 300) + "]",
		"properties": "[ask(1)" + strings.Repeat(".a", 300) + "]",
		"keys":       "[ask(1)" + strings.Repeat("[ask(1)", 300) + strings.Repeat("]", 300) + "]",
		"length":     "['" + strings.Repeat("a", expr.MaxLength) + "']",
	} {
		if _, err := expr.Parse(text); err == nil {
			t.Errorf("%s are not bounded", name)
		}
	}
}

// expression draws the text of an expression of a depth; scalar ones are strings.
func expression(t *rapid.T, depth int) string {
	if depth == 0 {
		return rapid.SampledFrom([]string{"'a'", "'it''s'", "''", "'[b]'", "ask('c')", "ask('')", "string(1)", "string(-7)"}).Draw(t, "leaf")
	}
	next := func() string { return expression(t, depth-1) }
	switch rapid.IntRange(0, 11).Draw(t, "shape") {
	case 0:
		return "concat(" + next() + ", " + next() + ")"
	case 1:
		return "if(equals(" + next() + "," + next() + "), " + next() + ", " + next() + ")"
	case 2:
		return "createObject('a', " + next() + ", 'b', " + next() + ").a"
	case 3:
		return "createArray(" + next() + ", " + next() + ")[1]"
	case 4:
		return "coalesce(null(), ask(null()), " + next() + ")"
	case 5:
		return "string(and(empty(" + next() + "), or(equals('a', " + next() + "), false())))"
	case 6:
		return "join(map(createArray(" + next() + ", 'x'), lambda('i', concat(lambdaVariables('i'), " + next() + "))), '-')"
	case 7:
		return "toUpper(" + next() + ")"
	case 8:
		return "join(filter(createArray(" + next() + "," + next() + "), lambda('i', not(empty(lambdaVariables('i'))))), ',')"
	case 9:
		return "ask(createObject('n', " + next() + ")).n"
	case 10:
		return "string(length(union(createObject('k', " + next() + "), createObject('j', 1))))"
	}
	return "ask(" + next() + ")"
}

func TestWhatIsPrintedParsesTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, err := expr.Parse("[" + expression(t, 3) + "]")
		if err != nil {
			t.Fatal(err)
		}
		printed := expr.Print(n)
		again, err := expr.Parse("[" + printed + "]")
		if err != nil || expr.Print(again) != printed {
			t.Fatalf("%s: %v", printed, err)
		}
	})
}

// To work an expression out in part, and the rest once the answers are there, is the same
// as to work it out at once. So it is if what remains was written down in between.
func TestWhatIsFinishedEqualsWhatIsEvaluatedAtOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, err := expr.Parse("[" + expression(t, 3) + "]")
		if err != nil {
			t.Fatal(err)
		}
		want, wantErr := expr.Evaluate(n, env(library{answered: true}))
		part, err := expr.Evaluate(n, env(library{}))
		if wantErr != nil || err != nil {
			t.Fatalf("%s: %v, %v", expr.Print(n), wantErr, err)
		}
		got, err := expr.Finish(part, env(library{answered: true}))
		if err != nil || !got.Equal(want) {
			t.Fatalf("%s became %s: %s, not %s: %v", expr.Print(n), part.JSON(), got.JSON(), want.JSON(), err)
		}
		if part.Known() {
			return
		}
		written, err := expr.Parse("[" + expr.Print(part.Expression()) + "]")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := expr.Evaluate(written, env(library{answered: true})); err != nil || !got.Equal(want) {
			t.Fatalf("%s was written: %s, not %s: %v", part.JSON(), got.JSON(), want.JSON(), err)
		}
	})
}

func FuzzExpression(f *testing.F) {
	for _, text := range []string{"[concat('a', ask(1).b[0])]", "[map(range(0, 9), lambda('i', lambdaVariables('i')))]", "[if(ask(true()), fail('x'), createObject('a', -1))]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, isExpression := expr.Text(text); !isExpression {
			return
		}
		n, err := expr.Parse(text)
		if err != nil {
			return
		}
		printed := expr.Print(n)
		again, err := expr.Parse("[" + printed + "]")
		if len(printed) < expr.MaxLength-2 && (err != nil || expr.Print(again) != printed) {
			t.Fatalf("%q is printed as %q: %v", text, printed, err)
		}
		v, err := expr.Evaluate(n, env(library{}))
		if err != nil {
			return
		}
		_ = v.JSON()
		_, _ = expr.Finish(v, env(library{answered: true}))
	})
}

func TestMembersThatDifferInCasingAlone(t *testing.T) {
	t.Parallel()
	members := func(n int, more ...expr.Member) expr.Value {
		for i := range n {
			more = append(more, expr.Member{Name: fmt.Sprintf("m%d", i), Value: expr.IntOf(0)})
		}
		return expr.ObjectOf(more...)
	}
	of := func(name string, n int64) expr.Member { return expr.Member{Name: name, Value: expr.IntOf(n)} }
	for _, n := range []int{0, 20} {
		v := members(n, of("True", 1), of("true", 2), of("b", 3), of("True", 4))
		if v.Len() != n+3 {
			t.Errorf("%d members: %s", v.Len(), v.AppendJSON(nil))
		}
		for name, want := range map[string]int64{"True": 4, "true": 2, "TRUE": 4, "B": 3} {
			if got, found := v.Member(name); !found || got.Int() != want {
				t.Errorf("%s is %d", name, got.Int())
			}
		}
		if _, found := v.MemberExact("TRUE"); found {
			t.Error("a member is found by a name that it does not have")
		}
		same, other := members(n, of("true", 2), of("B", 3), of("True", 4)), members(n, of("true", 4), of("b", 3), of("c", 4))
		if !v.Equal(same) || !same.Equal(v) || v.Equal(other) || other.Equal(v) {
			t.Error("equality")
		}
		twice, once := members(n, of("a", 1), of("A", 1)), members(n, of("a", 1), of("c", 1))
		if twice.Equal(once) || once.Equal(twice) {
			t.Error("two members are taken for one")
		}
	}
}
