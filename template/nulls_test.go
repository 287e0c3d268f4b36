package template_test

import (
	"os"
	"strings"
	"testing"

	"portico/template"
	"portico/template/document"
)

// valued are the members of the template whose null is a value.
var valued = map[string]bool{"value": true, "input": true, "written": true}

// withoutNulls is a document without the explicit nulls that are no values.
func withoutNulls(to *strings.Builder, n *document.Node) {
	switch {
	case len(n.Elements) > 0:
		to.WriteByte('[')
		for i, e := range n.Elements {
			if i > 0 {
				to.WriteByte(',')
			}
			withoutNulls(to, e)
		}
		to.WriteByte(']')
	case len(n.Members) > 0:
		to.WriteByte('{')
		first := true
		for _, m := range n.Members {
			if m.Node.Value.JSON() == "null" && !valued[m.Name] {
				continue
			}
			if !first {
				to.WriteByte(',')
			}
			first = false
			to.WriteString(`"` + m.Name + `":`)
			withoutNulls(to, m.Node)
		}
		to.WriteByte('}')
	default:
		to.Write(n.Value.AppendJSON(nil))
	}
}

// Programs that write templates, such as Terraform's jsonencode, write all optional members.
func TestExplicitNullsAreAbsence(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/nulls.json")
	if err != nil {
		t.Fatal(err)
	}
	full, faults := document.Read(text, document.Strict, template.Code)
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}
	var short strings.Builder
	withoutNulls(&short, full.Root)
	if strings.Count(short.String(), "null") >= strings.Count(string(text), "null") {
		t.Fatal("nothing was left out")
	}
	var plans [2]string
	for i, text := range []string{string(text), short.String()} {
		d, faults := document.Read([]byte(text), document.Strict, template.Code)
		if len(faults) > 0 {
			t.Fatal(faults[0])
		}
		in := input(d.Root)
		in.Arguments = argumentsOf(t, `{"given":{"value":"g","reference":null,"expression":null,"metadata":null},"open":{"value":null,"reference":null},"none":null}`)
		plan, faults, _ := template.Expand(t.Context(), in)
		for _, fault := range faults {
			t.Errorf("%d: %v", i, fault)
		}
		if plan != nil {
			plans[i] = plan.Document().JSON()
		}
	}
	if plans[0] != plans[1] {
		t.Errorf("with nulls:\n%s\nwithout:\n%s", plans[0], plans[1])
	}
	for _, want := range []string{`"id":"/subscriptions/` + zero + `/resourceGroups/template/providers/Contoso.Things/things/gplainx"`, `"written":null`, `"nothing":[null,null]`, `"many":[0,1]`} {
		if !strings.Contains(plans[0], want) {
			t.Errorf("the plan lacks %s:\n%s", want, plans[0])
		}
	}
}

func argumentsOf(t *testing.T, text string) []template.Argument {
	t.Helper()
	d, faults := document.Read([]byte(text), document.Strict, template.Code)
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}
	arguments, faults := template.ReadArguments(d.Root)
	for _, fault := range faults {
		t.Fatal(fault)
	}
	return arguments
}

// A null in place of a reference is none, and a reference stays refused.
func TestReferencesOfParameters(t *testing.T) {
	t.Parallel()
	for parameter, refused := range map[string]string{
		`{"value":"x","reference":null}`:                                      "",
		`{"value":"x","expression":null}`:                                     "",
		`"[createObject('value', 'x', 'reference', null())]"`:                 "",
		`{"value":null,"reference":{"secretName":"s"}}`:                       "Key Vault",
		`{"reference":{"secretName":"s"}}`:                                    "Key Vault",
		`{"expression":"[externalInput('x')]"}`:                               "external input",
		`"[createObject('reference', createObject('secretName', 's'))]"`:      "Key Vault",
		`"[createObject('value', null(), 'expression', 'externalInput(1)')]"`: "external input",
		`"[string('x')]"`: "no member 'value'",
	} {
		for form, parameters := range map[string]string{"each": `{"x":` + parameter + `}`, "all": `"[createObject('x', ` + expressionOf(parameter) + `)]"`} {
			_, faults := expandText(t, `{`+head+`,"resources":[{"type":"Microsoft.Resources/deployments","apiVersion":"2022-09-01","name":"n","properties":{"mode":"Incremental",
				"expressionEvaluationOptions":{"scope":"inner"},"parameters":`+parameters+`,"template":{`+head+`,"parameters":{"x":{"type":"string","defaultValue":"d"}},"resources":[]}}}]}`)
			switch {
			case refused == "" && len(faults) > 0:
				t.Errorf("%s, %s: %v", parameter, form, faults[0])
			case refused != "" && (len(faults) != 1 || !strings.Contains(faults[0].Message, refused) || !strings.Contains(faults[0].Message, "'x'")):
				t.Errorf("%s, %s: %v", parameter, form, faults)
			}
		}
	}
}

// expressionOf is a parameter as an expression that makes it.
func expressionOf(parameter string) string {
	if inner, is := strings.CutPrefix(parameter, `"[`); is {
		return strings.TrimSuffix(inner, `]"`)
	}
	return `json('` + strings.ReplaceAll(strings.ReplaceAll(parameter, `'`, `''`), `"`, `\"`) + `')`
}
