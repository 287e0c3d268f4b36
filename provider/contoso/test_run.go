package contoso

import (
	"net/http"
	"slices"
)

// A test run may take more than a day, and its client may have lost the
// polling URLs: a proxy-only child of the machine also shows the newest run
// (async reference, Long running operations running more than a day).
const (
	testResults = "testResults"
	latestRun   = "latest"
	stateTests  = "Running"
)

func runTests(*resource) result {
	return result{Status: http.StatusOK, Body: encode(map[string]int{"passed": 12, "failed": 0})}
}

// showRun writes the child that shows the new run.
func (t *tx) showRun(o *operation, c *call, machine *resource) error {
	on, err := addressOf(machine.ID)
	if err != nil {
		return err
	}
	kind, _ := t.catalog.lookup(on.namespace, on.typePath()+"/"+testResults)
	a := on.child(testResults, latestRun)
	r := &resource{Properties: object{{"status", encode(stateTests)}, {"startTime", encode(o.Started.UTC())}}}
	if err := r.complete(c, a, kind); err != nil {
		return err
	}
	o.Shown = r.key()
	t.put(r.inState(stateTests, o.ID))
	return nil
}

// endRun shows the end of the run in the child, unless a newer run has started.
func (t *tx) endRun(o *operation) error {
	shown := t.resource(o.Shown)
	if o.Shown == "" || shown == nil || shown.Operation != o.ID {
		return nil
	}
	next := *shown
	next.Properties = slices.Concat(shown.Properties.with("status", encode(o.Status)), object{{"endTime", encode(o.Ended.UTC())}})
	if o.Error != nil {
		next.Properties = next.Properties.with("error", encode(o.Error))
	} else {
		next.Properties = next.Properties.with("results", o.Result.Body)
	}
	if err := next.tag(t.breaks); err != nil {
		return err
	}
	t.put(next.inState(o.Status, ""))
	return nil
}
