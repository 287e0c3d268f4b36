package template_test

import "testing"

// A part of the template is a secret where a secret says which one it is, and so is a
// parameter's value that is one.
func TestSecretsOfDeployment(t *testing.T) {
	t.Parallel()
	plan, faults := expandText(t, `{`+head+`,"parameters":{"key":{"type":"secureString","defaultValue":"name"},"name":{"type":"string","defaultValue":"n"}},"resources":[
		{"type":"Microsoft.Resources/deployments","apiVersion":"2022-09-01","name":"inner","properties":{"mode":"Incremental","expressionEvaluationOptions":{"scope":"inner"},
			"parameters":{"word":{"value":"[parameters('key')]"},"open":{"value":"o"}},
			"template":{`+head+`,"parameters":{"word":{"type":"secureString"},"open":{"type":"string"}},"resources":[],"outputs":{
				"word":{"type":"string","value":"[deployment().properties.parameters.word.value]"},
				"all":{"type":"object","value":"[deployment()]"},
				"open":{"type":"string","value":"[deployment().properties.parameters.open.value]"},
				"name":{"type":"string","value":"[deployment().name]"}}}}}],
		"outputs":{
			"part":{"type":"object","value":"[deployment().properties.template.parameters[parameters('key')]]"},
			"deeper":{"type":"string","value":"[deployment().properties.template.parameters[parameters('key')].defaultValue]"},
			"word":{"type":"object","value":"[reference('inner').outputs.word]"},
			"open":{"type":"string","value":"[reference('inner').outputs.open.value]"}}}`)
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}
	secure := map[string]bool{"part": true, "deeper": true, "word": true, "open": false, "inner word": true, "inner all": true, "inner open": false, "inner name": false}
	for _, o := range plan.Outputs {
		if o.Value.Secure() != secure[o.Name] {
			t.Errorf("%s: %v", o.Name, o.Value.Secure())
		}
	}
	for _, o := range plan.Deployments[0].Outputs {
		if o.Value.Secure() != secure["inner "+o.Name] {
			t.Errorf("inner %s: %v", o.Name, o.Value.Secure())
		}
	}
}
