package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

// dear is a deployment of few bytes: a text is doubled to 4 MiB, and an expression for each of
// many numbers walks through it.
func dear(expression string) string {
	var variables strings.Builder
	for i := range 18 {
		fmt.Fprintf(&variables, `"s%d": "[concat(variables('s%d'), variables('s%d'))]", `, i+1, i, i)
	}
	return `{"properties": {"mode": "Incremental", "template": {` + templateSchema + `, "variables": {"s0": "aaaaaaaaaaaaaaéé", ` + variables.String() +
		`"x": "[length(map(range(0, 10000), lambda('i', ` + expression + `)))]"}, "resources": []}}}`
}

// What a template asks for is refused once it exceeds what one may spend, however it is asked.
func TestDeploymentThatAsksForTooMuch(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{})
	w.PutGroup(t, "rg")
	deeper := func(so string) string {
		return `reduce(range(0, 10000), ` + so + `, lambda('so', 'i', createArray(lambdaVariables('so'))))`
	}
	for what, body := range map[string]string{
		"asks for more steps than an evaluation may spend": dear("substring(variables('s18'), 4000000, 1)"),
		"more steps than an evaluation may spend":          dear("length(split(variables('s18'), createArray('b', 'c', 'd', 'e', 'f')))"),
		"nests deeper than 100 levels":                     dear("length(" + deeper("createArray()") + ")"),
		"expressions nests deeper than 100 levels": `{"properties": {"mode": "Incremental", "template": {` + templateSchema + `, "resources": [],
			"outputs": {"o": {"type": "array", "value": "[` + deeper("createArray()") + `]"}}}}}`,
	} {
		for path, method := range map[string]string{"": http.MethodPut, "/validate": http.MethodPost, "/whatIf": http.MethodPost} {
			a := w.Portico.Do(t, harness.Request{Method: method, Path: deploymentPath(w, "d") + path + "?api-version=2021-04-01", Body: body}).WantError(t, 400, "InvalidTemplate")
			if says := strings.TrimPrefix(what, "asks for "); !strings.Contains(string(a.Body), says) {
				t.Errorf("%s: %s", what, a.Body)
			}
		}
	}
}

// What an answer makes deeper than values may be fails the deployment, which ends.
func TestDeploymentWhoseAnswersNestTooDeep(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	of := `reference(resourceId('Contoso.Compute/virtualMachines', 'a')).deep`
	for range 12 {
		of = "createArray(" + of + ")"
	}
	body := `{"properties": {"mode": "Incremental", "template": {` + templateSchema + `, "resources": [{"type": "Contoso.Compute/virtualMachines", "apiVersion": "` + harness.Version + `",
		"name": "a", "location": "` + harness.RegionNames()[0] + `", "properties": {"deep": ` + strings.Repeat("[", 90) + strings.Repeat("]", 90) + `}}],
		"outputs": {"o": {"type": "array", "value": "[` + of + `]"}}}}}`
	end, d := deployed(t, w, w.Portico, "d", putDeployment(t, w, w.Portico, "d", body, 201))
	if fault := string(d.Properties.Error); end != "Failed" || !strings.Contains(fault, "DeploymentOutputEvaluationFailed") || !strings.Contains(fault, "nests deeper than 100 levels") {
		t.Errorf("%s: %s", end, fault)
	}
}

// A template is worked out no longer than its client waits.
func TestDeploymentWhoseClientLeaves(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{})
	w.PutGroup(t, "rg")
	body := dear("substring(variables('s18'), 4000000, 1)")
	wait := time.Millisecond // the longer until the request has come in, the busier the machine is
	soon(t, "the leave of a client to be seen", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		if _, err := w.Portico.Try(ctx, harness.Request{Method: http.MethodPut, Path: deploymentPath(w, "d") + "?api-version=2021-04-01", Body: body}); err == nil {
			wait = time.Millisecond
		}
		wait += 3 * time.Millisecond
		return strings.Contains(w.Portico.Metrics(t), `code="499"`)
	})
}

// A gateway ends although templates are worked out whose clients wait.
func TestGatewayEndsWhileTemplatesAreWorkedOut(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{})
	w.PutGroup(t, "rg")
	for range 4 {
		go func() {
			for {
				r := harness.Request{Method: http.MethodPut, Path: deploymentPath(w, "d") + "?api-version=2021-04-01", Body: dear("substring(variables('s18'), 4000000, 1)")}
				if _, err := w.Portico.Try(context.WithoutCancel(t.Context()), r); err != nil {
					return // the gateway has ended
				}
			}
		}()
	}
	soon(t, "templates to be worked out", func() bool { return w.Portico.Metric(t, "portico_requests_in_flight") > 1 })
	w.Portico.Stop(t)
}
