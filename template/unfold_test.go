package template_test

import (
	"testing"

	"portico/template"
	"portico/template/document"
	"portico/template/expr"
)

// A deployment that unfolds later stands in its group as the template around it does, also if
// all that is known of the group is where the deployment is.
func TestUnfoldedDeploymentsKnowTheirGroup(t *testing.T) {
	t.Parallel()
	const schema = `"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0"`
	d, faults := document.Read([]byte(`{`+schema+`, "resources": [{"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "late", "properties": {"mode": "Incremental",
		"expressionEvaluationOptions": {"scope": "inner"}, "parameters": {"name": {"value": "[reference('/subscriptions/s/resourceGroups/g/providers/A.B/c/d', '1').name]"}},
		"template": {`+schema+`, "parameters": {"name": {"type": "string"}}, "resources": [
			{"type": "A.B/c", "apiVersion": "2024-01-01", "name": "[parameters('name')]", "location": "[resourceGroup().location]"}]}}}]}`), document.Strict, template.Code)
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}
	in := input(d.Root)
	plan, faults, _ := template.Expand(t.Context(), in)
	if len(faults) > 0 || len(plan.Resources) != 1 || plan.Resources[0].Unfolds == nil {
		t.Fatalf("%v %v", plan, faults)
	}
	inner, faults, _ := plan.Resources[0].Unfolds.Unfold(t.Context(), in, func(expr.Value) (expr.Value, error) { return expr.StringOf("answered"), nil })
	if len(faults) > 0 || len(inner.Resources) != 1 {
		t.Fatalf("%v %v", inner, faults)
	}
	if location, _ := inner.Resources[0].Body.Member("location"); location.Text() != "westus" {
		t.Errorf("it is made in %q", location.Text())
	}
}
