package deployments_test

import (
	"strings"
	"testing"

	"portico/arm"
	"portico/gateway/frontdoor/deployments"
	"portico/template/expr"
)

var (
	atGroup        = expr.Scope{Subscription: "s", Group: "g"}
	atSubscription = expr.Scope{Subscription: "s"}
)

func TestContentIsReadAsAzSendsIt(t *testing.T) {
	t.Parallel()
	c, fault := deployments.Read([]byte("{\"properties\": {\"parameters\": {\"a\": {\"value\": 1}}, \"mode\": \"complete\", template:{ // one\n\"x\": 'a\nb', /* two */ }}}"), "d", atGroup)
	if fault != nil {
		t.Fatal(fault)
	}
	if !c.Complete || c.Template.Member("x").Text() != "a\nb" || len(c.Arguments) != 1 || c.Arguments[0].Name != "a" || c.Arguments[0].Value.Int() != 1 {
		t.Errorf("%+v", c)
	}
	if c, fault = deployments.Read([]byte(`{"location":"westus","properties":{"mode":"Incremental","template":{}}}`), "d", atSubscription); fault != nil || c.Complete || c.Location != "westus" {
		t.Errorf("%+v, %v", c, fault)
	}
	c, fault = deployments.Read([]byte(`{"properties": {"mode": "Incremental", "template": "{\"x\": \"a\"}", "parameters": "{\"a\": {\"value\": 1}}"}}`), "d", atGroup)
	if fault != nil || c.Template.Member("x").Text() != "a" || len(c.Arguments) != 1 || c.Arguments[0].Value.Int() != 1 {
		t.Errorf("as strings: %+v, %v", c, fault)
	}
}

func TestContentIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content string
		scope   expr.Scope
		code    arm.Code
		want    string
	}{
		"nothing":            {``, atGroup, arm.InvalidTemplate, "line 1, column 1"},
		"no object":          {`[]`, atGroup, arm.InvalidTemplate, "Path '$', line 1, column 1"},
		"no properties":      {`{}`, atGroup, arm.InvalidTemplate, "an object 'properties'"},
		"broken":             {"{\"properties\":\n {\"template\": }}", atGroup, arm.InvalidTemplate, "Path '$.properties.template', line 2, column 15"},
		"a broken string":    {`{"properties":{"mode":"Incremental","template":"{\n \"x\": }"}}`, atGroup, arm.InvalidTemplate, "Path '$.x', line 2, column 7"},
		"no template":        {`{"properties":{"mode":"Incremental"}}`, atGroup, arm.InvalidTemplate, "an object 'template'"},
		"a link":             {`{"properties":{"templateLink":{"uri":"https://x"}}}`, atGroup, arm.InvalidTemplate, "links to templates are not supported"},
		"no mode":            {`{"properties":{"template":{}}}`, atGroup, arm.InvalidTemplate, "has a 'mode'"},
		"another mode":       {`{"properties":{"template":{},"mode":"all"}}`, atGroup, arm.InvalidTemplate, "Path '$.properties.mode'"},
		"complete above":     {`{"location":"w","properties":{"template":{},"mode":"Complete"}}`, atSubscription, arm.InvalidTemplate, "is 'Incremental'"},
		"no location above":  {`{"properties":{"template":{},"mode":"Incremental"}}`, atSubscription, arm.InvalidDeployment, "has a 'location'"},
		"a group's location": {`{"location":"w","properties":{"template":{},"mode":"Incremental"}}`, atGroup, arm.InvalidDeployment, "has no 'location'"},
		"tags":               {`{"tags":{"a":1},"properties":{"template":{},"mode":"Incremental"}}`, atGroup, arm.InvalidTemplate, "Path '$.tags.a'"},
		"a tag's name":       {`{"tags":{"a<":"1"},"properties":{"template":{},"mode":"Incremental"}}`, atGroup, arm.InvalidTagNameCharacters, "a<"},
		"a parameter":        {`{"properties":{"template":{},"mode":"Incremental","parameters":{"p":{}}}}`, atGroup, arm.InvalidTemplate, "Path '$.properties.parameters.p'"},
	} {
		_, fault := deployments.Read([]byte(c.content), "d", c.scope)
		if fault == nil || fault.Code != c.code || fault.Status != 400 || !strings.Contains(fault.Message, c.want) {
			t.Errorf("%s: %v", name, fault)
		}
	}
	for _, name := range []string{"", "a b", "ä", strings.Repeat("a", 65)} {
		if _, fault := deployments.Read([]byte(`{"properties":{"template":{},"mode":"Incremental"}}`), name, atGroup); fault == nil || fault.Code != arm.InvalidDeployment {
			t.Errorf("%q: %v", name, fault)
		}
	}
}
