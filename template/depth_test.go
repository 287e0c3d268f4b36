package template_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"portico/template"
	"portico/template/document"
	"portico/template/expr"
)

// nested is an array that nests so deep.
func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

// Values nest as deep as documents may, whatever makes them.
func TestValuesNestAsDeepAsDocuments(t *testing.T) {
	t.Parallel()
	const most = document.MaxDepth
	reduced := func(body string, more string) func(int) string {
		return func(levels int) string {
			return fmt.Sprintf(`"[reduce(range(0, %d), %s, lambda('so', 'i', %s))]"`, levels-1, more, body)
		}
	}
	// Each makes a variable v that nests so deep.
	for name, value := range map[string]func(levels int) string{
		"createArray":  reduced("createArray(lambdaVariables('so'))", "createArray()"),
		"createObject": reduced("createObject('a', lambdaVariables('so'))", "createObject()"),
		"map":          reduced("map(range(0, 1), lambda('x', lambdaVariables('so')))", "createArray()"),
		"toObject":     reduced("toObject(range(0, 1), lambda('k', 'a'), lambda('k', lambdaVariables('so')))", "createObject()"),
		"union":        reduced("union(createObject('a', lambdaVariables('so')), createObject())", "createObject()"),
		"json":         func(levels int) string { return `"[createArray(json('` + nested(levels-1) + `'))]"` },
		"user":         func(levels int) string { return `"[n.f(variables('` + fmt.Sprint(levels-1) + `'))]"` },
		"a document":   func(levels int) string { return `["[variables('` + fmt.Sprint(levels-1) + `')]"]` },
		"a loop": func(levels int) string {
			return `{"copy":[{"name":"a","count":1,"input":"[variables('` + fmt.Sprint(levels-2) + `')]"}]}`
		},
		"a tree": func(levels int) string { return `"[createArray(1, variables('` + fmt.Sprint(levels-1) + `'), 2)]"` },
	} {
		for _, levels := range []int{most, most + 1} {
			// Variables of a few depths are made of parts that a document can hold.
			text := `{` + head + `,"functions":[{"namespace":"n","members":{"f":{"parameters":[{"name":"p","type":"array"}],"output":{"type":"array","value":["[parameters('p')]"]}}}}],"variables":{`
			for _, n := range []int{most - 2, most - 1, most} {
				text += fmt.Sprintf(`"%d":%s,`, n, reduced("createArray(lambdaVariables('so'))", "createArray()")(n))
			}
			text += `"v":` + value(levels) + `},"resources":[],"outputs":{"o":{"type":"int","value":"[length(variables('v'))]"}}}`
			_, faults := expandText(t, text)
			switch {
			case levels <= most && len(faults) > 0:
				t.Errorf("%s: %d levels: %v", name, levels, faults[0])
			case levels > most && (len(faults) != 1 || !strings.Contains(faults[0].Message, "nests deeper than 100 levels")):
				t.Errorf("%s: %d levels: %v", name, levels, faults)
			}
		}
	}
}

// A loop of variables, of outputs, and the body of a resource are values as well.
func TestWhatHoldsAValueNestsNoDeeper(t *testing.T) {
	t.Parallel()
	deepest := `"v":"[reduce(range(0, 99), createArray(), lambda('so', 'i', createArray(lambdaVariables('so'))))]"`
	for name, rest := range map[string]string{
		"variables": `"variables":{` + deepest + `,"copy":[{"name":"l","count":1,"input":"[variables('v')]"}]},"resources":[]`,
		"outputs":   `"variables":{` + deepest + `},"resources":[],"outputs":{"o":{"type":"array","copy":{"count":1,"input":"[variables('v')]"}}}`,
		"a body":    `"variables":{` + deepest + `},"resources":[{"type":"A.B/c","apiVersion":"2024-01-01","name":"a","properties":"[variables('v')]"}]`,
	} {
		if _, faults := expandText(t, `{`+head+`,`+rest+`}`); len(faults) != 1 || !strings.Contains(faults[0].Message, "nests deeper than 100 levels") {
			t.Errorf("%s: %v", name, faults)
		}
	}
}

// Answers that make a value deeper are refused with what holds them.
func TestAnswersNestNoDeeper(t *testing.T) {
	t.Parallel()
	plan, faults := expandText(t, `{`+head+`,"resources":[{"type":"A.B/c","apiVersion":"2024-01-01","name":"a","properties":{"x":"[reference('/x', '1').x]"}},
		{"type":"A.B/c","apiVersion":"2024-01-01","name":"b","properties":"[createArray(reference('/x', '1').x)]"}]}`)
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}
	for levels, fits := range map[int]bool{98: true, 99: false, 100: false} {
		d, _ := document.Read([]byte(nested(levels)), document.Strict, "")
		for _, r := range plan.Resources {
			_, err := template.Finish(t.Context(), r.Body, template.Input{}, func(template.Question) (expr.Value, error) {
				return expr.ObjectOf(expr.Member{Name: "x", Value: d.Root.Value}), nil
			})
			if fits != (err == nil) || err != nil && !strings.Contains(err.Error(), "nests deeper than 100 levels") {
				t.Errorf("%d levels in %s: %v", levels, r.Name, err)
			}
		}
	}
}

// An expansion ends with its context, and its error is no fault of the template.
func TestExpansionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"a loop":             `"[map(range(0, 10000), lambda('i', newGuid()))]"`,
		"what is undecided":  `"[if(equals(reference('/x', '1').a, 1), map(range(0, 10000), lambda('i', newGuid())), 'b')]"`,
		"a user's function":  `"[map(range(0, 10000), lambda('i', n.f(newGuid())))]"`,
		"a template's nodes": `[` + strings.TrimSuffix(strings.Repeat(`"[newGuid()]",`, 10_000), ",") + `]`,
	} {
		text := `{` + head + `,"functions":[{"namespace":"n","members":{"f":{"parameters":[{"name":"p","type":"string"}],"output":{"type":"string","value":"[parameters('p')]"}}}}],
			"parameters":{"p":{"type":"array","defaultValue":` + value + `}},"resources":[]}`
		if name == "what is undecided" {
			text = strings.Replace(text, `"resources":[]`, `"resources":[{"type":"A.B/c","apiVersion":"2024-01-01","name":"a","properties":{"x":`+value+`}}]`, 1)
			text = strings.Replace(text, `"defaultValue":`+value, `"defaultValue":["[newGuid()]"]`, 1)
			text = strings.ReplaceAll(text, `lambda('i', newGuid())`, `lambda('i', guid('a'))`)
		}
		d, faults := document.Read([]byte(text), document.Strict, template.Code)
		if len(faults) > 0 {
			t.Fatal(faults[0])
		}
		ctx, cancel := context.WithCancel(t.Context())
		in := input(d.Root)
		calls := 0
		in.NewGUID = func() string {
			calls++
			cancel()
			return "x"
		}
		plan, faults, err := template.Expand(ctx, in)
		if !errors.Is(err, context.Canceled) || plan != nil || faults != nil || calls > 5000 {
			t.Errorf("%s: %v after %d calls: %v, %v", name, err, calls, plan, faults)
		}
		cancel()
	}
}

// What answers complete ends with its context as well.
func TestFinishEndsWithItsContext(t *testing.T) {
	t.Parallel()
	plan, faults := expandText(t, `{`+head+`,"resources":[{"type":"A.B/c","apiVersion":"2024-01-01","name":"a","properties":{"x":"[map(range(0, 10000), lambda('i', reference('/x', '1')))]"}}]}`)
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, err := template.Finish(ctx, plan.Resources[0].Body, template.Input{}, func(template.Question) (expr.Value, error) {
		calls++
		cancel()
		return expr.IntOf(1), nil
	})
	if !errors.Is(err, context.Canceled) || calls > 5000 {
		t.Errorf("%v after %d calls", err, calls)
	}
}
