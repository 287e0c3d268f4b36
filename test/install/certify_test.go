package install

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"portico/provider/certify/contract"
	"portico/provider/certify/report"
	"portico/test/harness"
)

// The files of results that the suite writes are as configs/certify-results.schema.json
// describes them, and have no member that it does not.
func TestCertifyResultsSchema(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "configs", "certify-results.schema.json"))
	harness.OK(t, err)
	var schema any
	harness.OK(t, json.Unmarshal(text, &schema))
	closeObjects(schema)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	harness.OK(t, c.AddResource("results.json", schema))
	compiled, err := c.Compile("results.json")
	harness.OK(t, err)
	exchange := &contract.Exchange{Method: "PUT", URL: "u", RequestHeader: http.Header{"A": {"b"}}, RequestBodyNote: "n", Status: 200, BodyNote: "n", Curl: "c"}
	for what, r := range map[string]report.Run{
		"nothing": {},
		"everything": {
			Suite: "1", Contract: contract.Edition, Began: time.Now(), Took: time.Second, Claimed: []string{"core"}, Disruptive: true, Left: []string{"id"},
			Target: report.Target{Portico: "p", Endpoints: map[string]string{"westus": "w"}, Types: []string{"A.B/c"}},
			Results: []contract.Result{
				{
					Case: "a/b", Profile: contract.Core, Type: "A.B/c", Section: "s", Guideline: "g", Rule: "r", Through: "t", Outcome: contract.Broken, Why: "w",
					Faults: []contract.Fault{{Expected: "e", Got: "g", Exchange: exchange}, {Expected: "e", Got: "g"}}, Began: time.Now(), Took: time.Second,
				},
				{Case: "a/c", Outcome: contract.Kept}, {Case: "a/d", Outcome: contract.Unreached}, {Case: "a/e", Outcome: contract.LeftOut},
			},
		},
	} {
		dir := t.TempDir()
		harness.OK(t, report.Write(dir, r))
		text, err := os.ReadFile(filepath.Join(dir, report.ResultsFile))
		harness.OK(t, err)
		var value any
		harness.OK(t, json.Unmarshal(text, &value))
		if err := compiled.Validate(value); err != nil {
			t.Errorf("the results of %s: %v", what, err)
		}
	}
}

// closeObjects forbids members of objects that the schema does not list.
func closeObjects(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if _, lists := s["properties"]; lists {
			s["additionalProperties"] = false
		}
		for _, value := range s {
			closeObjects(value)
		}
	case []any:
		for _, value := range s {
			closeObjects(value)
		}
	}
}
