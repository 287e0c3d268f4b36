package deploy

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"portico/arm"
	"portico/inventory/deploymentrow"
	"portico/jobs/deploy/deployplan"
)

// What a deployment comes to may be too much only in the end: then it has failed, and is shown
// without that.
func TestEndsOfLargeDeploymentsAreKept(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", RecordBytes)
	for of, properties := range map[string]Properties{
		"outputs":   {Outputs: map[string]Parameter{"o": {Type: "String", Value: json.RawMessage(`"` + long + `"`)}}},
		"resources": {OutputResources: []Reference{{ID: long}}},
	} {
		for state, fault := range map[deploymentrow.State]*arm.Error{
			deploymentrow.Succeeded: nil,
			deploymentrow.Failed:    {Code: "C", Message: long, Details: []arm.Error{{Code: "D"}}},
		} {
			record := Stored{Record: Record{Name: "d", Properties: properties}}
			ended, err := record.end(state, fault, nil)
			if err != nil || len(ended.Record) > failureBytes+1000 {
				t.Fatalf("%s: %d bytes, %v", of, len(ended.Record), err)
			}
			var kept Stored
			if err := json.Unmarshal(ended.Record, &kept); err != nil {
				t.Fatal(err)
			}
			want := arm.DeploymentSizeExceeded
			if fault != nil {
				want = fault.Code
			}
			if ended.State != deploymentrow.Failed || kept.Properties.ProvisioningState != "Failed" || kept.Properties.Error.Code != want || ended.Error.Code != want {
				t.Errorf("%s: %v, %s", of, ended.State, kept.Properties.ProvisioningState)
			}
		}
	}
}

func TestOperationsAreBounded(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{0: 0, 3: 3, 40: 31} {
		all := make([]Operation, n)
		for i := range all {
			all[i].ID = strings.Repeat("x", operationsBytes/32)
		}
		text, err := operationsText(all)
		var kept []Operation
		if err := errors.Join(err, json.Unmarshal(text, &kept)); err != nil || len(kept) != want || len(text) > operationsBytes {
			t.Errorf("%d of %d in %d bytes, %v", len(kept), n, len(text), err)
		}
	}
}

// The error of a deployment says how many failures it has no details of.
func TestFailuresThatAreLeftOutAreCounted(t *testing.T) {
	t.Parallel()
	a := attempt{Deployer: &Deployer{}, expansion: &expansion{}, removals: map[string]removal{}, plan: deployplan.New(nil, deployplan.Limits{})}
	for i := range mostDetails + 7 {
		r := removal{number: i, state: deployplan.Failed}
		r.Target, r.Began, r.Fault = &Reference{ID: "/x"}, a.order.Now.Add(1), &arm.Error{Code: "C", Message: strings.Repeat("x", 4<<10)}
		a.removals[strings.Repeat("k", i)] = r
	}
	fault := a.failure(outermost, "/d")
	if n := len(fault.Body()); len(fault.Details) != mostDetails || !strings.HasSuffix(fault.Message, "Details of 7 further failures are left out.") || n > failureBytes+1000 {
		t.Errorf("%d details in %d bytes: %s", len(fault.Details), n, fault.Message)
	}
	if n := a.errorBytes(); n*len(a.removals) > errorsBytes {
		t.Errorf("each of %d has %d bytes", len(a.removals), n)
	}
}
