package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"portico/test/harness"
)

// A lock put through one replica and a DELETE sent through another: either the
// DELETE is refused, or it has ended before the lock is acknowledged. What stands
// then, stands as long as the lock does.
func TestLocksAgainstDeletes(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{
		Replicas: 2,
		Config:   harness.Config{Postgres: harness.StartPostgres(t).CreateDatabase(t, "portico")},
	})
	refused, deleted := 0, 0
	for i := range 24 {
		group := fmt.Sprint("rg", i)
		w.PutGroup(t, group)
		w.PutResource(t, group, machines+"m", body("eastus"))
		id := w.ResourcePath(group, machines+"m")
		scope := []string{w.SubscriptionPath(), w.GroupPath(group), id}[i%3]
		lock := scope + "/providers/Microsoft.Authorization/locks/l?api-version=2020-05-01"
		slow := fmt.Sprintf("delay=%dms", i%4*10)

		var wait sync.WaitGroup
		var removal, locked harness.Answer
		var failures [2]error
		stood := false
		wait.Go(func() {
			removal, failures[0] = w.Replicas[i/3%2].Try(t.Context(), harness.Request{
				Method: http.MethodDelete, Path: id + "?api-version=" + harness.Version, Header: http.Header{"X-Contoso-Fault": {slow}},
			})
		})
		wait.Go(func() {
			locked, failures[1] = w.Replicas[1-i/3%2].Try(t.Context(), harness.Request{Method: http.MethodPut, Path: lock, Body: `{"properties":{"level":"CanNotDelete"}}`})
			stood = w.Contoso("eastus").Holds(t, id)
		})
		wait.Wait()
		switch {
		case failures[0] != nil || failures[1] != nil:
			t.Fatal(failures)
		case locked.Status == 404 && scope == id: // gone before there was a lock
		case locked.Status != 201:
			t.Fatalf("the lock: %d %s", locked.Status, locked.Body)
		}
		if stood != w.Contoso("eastus").Holds(t, id) {
			t.Errorf("round %d: the machine went after the lock was acknowledged", i)
		}
		switch removal.Status {
		case 200:
			deleted++
		case 409:
			refused++
			if !stood || !strings.Contains(string(removal.Body), "ScopeLocked") {
				t.Errorf("round %d: stands %v, %s", i, stood, removal.Body)
			}
		default:
			t.Fatalf("the DELETE: %d %s", removal.Status, removal.Body)
		}
		w.Portico.Do(t, harness.Request{Method: http.MethodDelete, Path: lock}).Want(t, 200, 204, 404)
	}
	t.Logf("%d DELETEs were refused, %d came first", refused, deleted)
}

// Tags merged through two replicas at once, on every scope: none is lost.
func TestTagsThroughReplicas(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{
		Replicas: 2,
		Config:   harness.Config{Postgres: harness.StartPostgres(t).CreateDatabase(t, "portico")},
	})
	w.PutGroup(t, "rg")
	w.PutResource(t, "rg", machines+"m", body("eastus"))
	for _, scope := range []string{w.SubscriptionPath(), w.GroupPath("rg"), w.ResourcePath("rg", machines+"m")} {
		const n = 20
		at := scope + "/providers/Microsoft.Resources/tags/default?api-version=2021-04-01"
		var wait sync.WaitGroup
		var answers [n]harness.Answer
		var failures [n]error
		for i := range n {
			wait.Go(func() {
				answers[i], failures[i] = w.Replicas[i%2].Try(t.Context(), harness.Request{
					Method: http.MethodPatch, Path: at, Body: fmt.Sprintf(`{"operation":"Merge","properties":{"tags":{"t%d":"%d"}}}`, i, i),
				})
			})
		}
		wait.Wait()
		for i := range n {
			if failures[i] != nil || answers[i].Status != 200 {
				t.Errorf("%s %d: %d %s %v", scope, i, answers[i].Status, answers[i].Body, failures[i])
			}
		}
		properties, _ := w.Portico.Do(t, harness.Request{Path: at}).Want(t, 200).JSON(t)["properties"].(map[string]any)
		if tags, _ := properties["tags"].(map[string]any); len(tags) != n {
			t.Errorf("%s has %v", scope, tags)
		}
	}
}
