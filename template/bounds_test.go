package template_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"portico/template"
	"portico/template/document"
	"portico/template/expr"
)

const head = `"$schema":"https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#","contentVersion":"1.0.0.0"`

func expandText(t testing.TB, text string) (*template.Plan, []*document.Fault) {
	t.Helper()
	d, faults := document.Read([]byte(text), document.Strict, template.Code)
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}
	plan, faults, err := template.Expand(t.Context(), input(d.Root))
	if err != nil {
		t.Fatal(err)
	}
	return plan, faults
}

// Templates that ask for ever more are refused with one fault.
func TestBombsAreRefused(t *testing.T) {
	t.Parallel()
	var doubling, asking strings.Builder
	for i := range 200 {
		fmt.Fprintf(&doubling, `"v%d":["[variables('v%d')]","[variables('v%d')]"],`, i, i+1, i+1)
		fmt.Fprintf(&asking, `"p%d":{"type":"object","defaultValue":{"a":"[parameters('p%d')]","b":"[parameters('p%d')]"}},`, i, i+1, i+1)
	}
	for name, text := range map[string]string{
		"variables":  `{` + head + `,"variables":{` + doubling.String() + `"v200":"x"},"resources":[]}`,
		"parameters": `{` + head + `,"parameters":{` + asking.String() + `"p200":{"type":"object","defaultValue":{}}},"resources":[]}`,
		"bodies": `{` + head + `,"variables":{"big":"[range(0, 10000)]"},"resources":[{"type":"A.B/c","apiVersion":"2024-01-01","name":"[concat('a', copyIndex())]",
			"copy":{"name":"l","count":800},"properties":{"a":"[map(variables('big'), lambda('x', string(lambdaVariables('x'))))]"}}]}`,
		"loops": `{` + head + `,"variables":{"copy":[{"name":"a","count":800,"input":{"copy":[{"name":"b","count":800,"input":{"copy":[{"name":"c","count":800,"input":"[copyIndex('a')]"}]}}]}}]},"resources":[]}`,
		"functions": `{` + head + `,"functions":[{"namespace":"n","members":{"f":{"parameters":[],"output":{"type":"string","value":"[n.f()]"}}}}],
			"variables":{"a":"[n.f()]"},"resources":[]}`,
		"typed arguments": `{` + head + `,"functions":[{"namespace":"n","members":{"f":{"parameters":[{"name":"a","type":"array","items":{"type":"int"}}],
			"output":{"type":"int","value":1}}}}],"variables":{"big":"[flatten(map(range(0, 10), lambda('i', range(0, 10000))))]",
			"a":"[map(range(0, 10000), lambda('i', n.f(variables('big'))))]"},"resources":[]}`,
		"what is left out": `{` + head + `,"variables":{"big":"[range(0, 10000)]"},"resources":[{"type":"A.B/c","apiVersion":"2024-01-01","condition":false,
			"name":"[concat(string(map(variables('big'), lambda('x', map(variables('big'), lambda('y', 'z'))))))]"}]}`,
		"the template in each resource": `{` + head + `,"metadata":{"x":"` + strings.Repeat("x", 100_000) + `"},"resources":[{"type":"A.B/c","apiVersion":"2024-01-01","name":"[concat('a', copyIndex())]",
			"copy":{"name":"l","count":800},"properties":{"a":"[deployment().properties.template.metadata]"}}]}`,
		"parts of the template": `{` + head + `,"metadata":{"x":[` + strings.Repeat(`[0,0,0,0,0,0,0,0,0],`, 25_000) + `0]},"resources":[{"type":"A.B/c","apiVersion":"2024-01-01","name":"a",
			"properties":{"a":"[length(deployment().properties.template.metadata.x)]"}}]}`,
		"branching functions": `{` + head + `,"functions":[{"namespace":"n","members":{"f":{"parameters":[{"name":"n","type":"int"}],
			"output":{"type":"int","value":"[if(equals(parameters('n'), 0), 1, add(n.f(sub(parameters('n'), 1)), n.f(sub(parameters('n'), 1))))]"}}}}],
			"variables":{"a":"[n.f(60)]"},"resources":[]}`,
	} {
		_, faults := expandText(t, text)
		if len(faults) != 1 {
			t.Errorf("%s: %d faults", name, len(faults))
		} else if !strings.Contains(faults[0].Message, "evaluation may") && !strings.Contains(faults[0].Message, "takes more than") {
			t.Errorf("%s: %v", name, faults[0])
		}
	}
}

// What a large template asks of itself costs what is asked for, however often it is.
func TestLargeTemplatesMayAskForThemselves(t *testing.T) {
	t.Parallel()
	plan, faults := expandText(t, `{`+head+`,"metadata":{"v":"1","x":[`+strings.Repeat(`[0,0,0,0,0,0,0,0,0],`, 25_000)+`0]},"resources":[{"type":"A.B/c","apiVersion":"2024-01-01",
		"name":"[concat(deployment().name, copyIndex())]","copy":{"name":"l","count":800},"properties":{"a":"[deployment().properties.template.metadata.v]","b":"[deployment().properties.template.metadata.x[copyIndex()]]",
			"c":"[deployment().properties.templateHash]"}}]}`)
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}
	if body := plan.Resources[799].Body.JSON(); !strings.HasPrefix(body, `{"properties":{"a":"1","b":[0,0,0,0,0,0,0,0,0],"c":"`) {
		t.Error(body)
	}
}

// A template costs nothing that is asked for its name, however deep large ones nest.
func TestLargeTemplatesMayNest(t *testing.T) {
	t.Parallel()
	text := `{` + head + `,"metadata":{"x":[` + strings.Repeat(`[0,0,0,0,0,0,0,0,0],`, 25_000) + `0]},"resources":[]}`
	for range 6 {
		text = `{` + head + `,"resources":[{"type":"A.B/c","apiVersion":"2024-01-01","name":"[deployment().name]"},{"type":"Microsoft.Resources/deployments","apiVersion":"2022-09-01",
			"name":"[take(uniqueString(deployment().name), 8)]","properties":{"mode":"Incremental","expressionEvaluationOptions":{"scope":"inner"},"template":` + text + `}}]}`
	}
	plan, faults := expandText(t, text)
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}
	if len(plan.Resources) != 6 || len(plan.Deployments) != 6 {
		t.Errorf("%d resources and %d deployments", len(plan.Resources), len(plan.Deployments))
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	members := func(n int, format string) string {
		texts := make([]string, n)
		for i := range texts {
			texts[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(texts, ",")
	}
	resource := `{"type":"A.B/c","apiVersion":"2024-01-01","name":"n%d"}`
	for name, c := range map[string]struct {
		format, member string
		most           int
		want           string
	}{
		"parameters": {`{` + head + `,"parameters":{%s},"resources":[]}`, `"p%d":{"type":"int","defaultValue":1}`, 256, "256 are the most"},
		"variables":  {`{` + head + `,"variables":{%s},"resources":[]}`, `"v%d":1`, 256, "256 are the most"},
		"outputs":    {`{` + head + `,"resources":[],"outputs":{%s}}`, `"o%d":{"type":"int","value":1}`, 64, "64 are the most"},
		"resources":  {`{` + head + `,"resources":[%s]}`, resource, 800, "more than 800 resources"},
	} {
		if _, faults := expandText(t, fmt.Sprintf(c.format, members(c.most, c.member))); len(faults) > 0 {
			t.Errorf("%d %s: %v", c.most, name, faults[0])
		}
		_, faults := expandText(t, fmt.Sprintf(c.format, members(c.most+1, c.member)))
		if len(faults) != 1 || !strings.Contains(faults[0].Message, c.want) {
			t.Errorf("%d %s: %v", c.most+1, name, faults)
		}
	}
}

// FuzzTemplate expands anything: there is a plan or a fault, and no panic; a plan's
// resources stand behind those that they wait for.
func FuzzTemplate(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, faults := document.Read(text, document.Relaxed, template.Code)
		if len(faults) > 0 {
			return
		}
		plan, faults, _ := template.Expand(t.Context(), input(d.Root))
		if (plan.Parameters == nil) == (len(faults) == 0) {
			t.Fatalf("a plan %v and %d faults", plan, len(faults))
		}
		if plan != nil {
			_ = plan.Document().JSON()
			respectsDependencies(t, plan)
		}
	})
}

// What a plan leaves open is worked out by answers, and a deployment that waited unfolds.
func TestAnswersFinishAPlan(t *testing.T) {
	t.Parallel()
	in, _ := read(t, "testdata/plans/nested.json")
	plan, faults, _ := template.Expand(t.Context(), in)
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}
	finish := func(v expr.Value) (expr.Value, error) {
		return template.Finish(t.Context(), v, in, func(q template.Question) (expr.Value, error) {
			return expr.ObjectOf(expr.Member{Name: "name", Value: expr.StringOf("answered")}, expr.Member{Name: "x", Value: expr.StringOf(q.APIVersion)},
				expr.Member{Name: "b", Value: expr.BoolOf(q.Full)}, expr.Member{Name: "location", Value: expr.StringOf("eastus")}), nil
		})
	}
	unfolded := 0
	for _, r := range plan.Resources {
		body, err := finish(r.Body)
		if err != nil || !body.Known() {
			t.Errorf("%s: %s, %v", r.ID, body.JSON(), err)
		}
		if r.Unfolds == nil {
			continue
		}
		unfolded++
		inner, faults, _ := r.Unfolds.Unfold(t.Context(), in, finish)
		if len(faults) > 0 || len(inner.Resources) != 1 || inner.Resources[0].Name != "answered" {
			t.Errorf("%s unfolds to %v, %v", r.ID, inner, faults)
		}
	}
	if d := plan.Deployments; len(d) != 3 || d[0].Name != "inner" || len(d[0].Parameters) != 2 || len(d[0].Outputs) != 2 {
		t.Errorf("unfolded are %v", d)
	}
	if unfolded != 1 {
		t.Errorf("%d deployments unfold later", unfolded)
	}
}

func TestSecretsAreMarkedInPlans(t *testing.T) {
	t.Parallel()
	in, _ := read(t, "testdata/plans/parameters.json")
	plan, faults, _ := template.Expand(t.Context(), in)
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}
	properties, _ := plan.Resources[0].Body.Member("properties")
	for _, m := range properties.Members() {
		if m.Value.Secure() != (m.Name == "password") {
			t.Errorf("%s is a secret: %v", m.Name, m.Value.Secure())
		}
	}
	if !plan.Outputs[0].Value.Secure() {
		t.Error("the output is no secret")
	}
}

// Secure outputs of modules are secrets where they are used, also while they wait for answers.
func TestSecureOutputsAreMarkedInPlans(t *testing.T) {
	t.Parallel()
	in, _ := read(t, "testdata/plans/secure.json")
	plan, faults, _ := template.Expand(t.Context(), in)
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}
	properties, _ := plan.Resources[len(plan.Resources)-1].Body.Member("properties")
	secrets := map[string]bool{"word": true, "key": true, "maybe": true, "whole": true}
	for _, m := range properties.Members() {
		v, err := template.Finish(t.Context(), m.Value, in, func(q template.Question) (expr.Value, error) {
			if q.AsksForOutputs() != strings.HasSuffix(q.ID, "/deployments/late") {
				t.Errorf("%+v", q)
			}
			word := expr.StringOf("a word")
			return expr.ObjectOf(expr.Member{Name: "word", Value: word}, expr.Member{Name: "key", Value: word}, expr.Member{Name: "x", Value: word},
				expr.Member{Name: "state", Value: expr.StringOf("on")}, expr.Member{Name: "token", Value: word}), nil
		})
		if err != nil || v.Secure() != secrets[m.Name] {
			t.Errorf("%s is a secret: %v, %v", m.Name, v.Secure(), err)
		}
	}
}

// What a template's order must respect holds for chains of any shape.
func TestOrderRespectsEveryDependency(t *testing.T) {
	t.Parallel()
	for seed := range 200 {
		var b strings.Builder
		n := 2 + seed%9
		for i := range n {
			var waits []string
			for j := range i {
				if (seed>>(j%7)+i*j)%3 == 0 {
					waits = append(waits, fmt.Sprintf(`"r%d"`, (j*5+seed)%n))
				}
			}
			fmt.Fprintf(&b, `,{"type":"A.B/c","apiVersion":"2024-01-01","name":"r%d","dependsOn":[%s]}`, i, strings.Join(waits, ","))
		}
		plan, faults := expandText(t, `{`+head+`,"resources":[`+b.String()[1:]+`]}`)
		if plan != nil {
			respectsDependencies(t, plan)
		} else if len(faults) != 1 || !strings.Contains(faults[0].Message, "wait for each other") {
			t.Errorf("%d: %v", seed, faults)
		}
	}
}
