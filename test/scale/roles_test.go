package scale

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

const reader = "acdd72a7-3385-48ef-bd42-f606fba81ae7"

// alice owns everything, and dora has what she is assigned.
var (
	alice = harness.Token{Raw: "alice-s-token", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-0000000000a1", Name: "alice@contoso.example"}
	dora  = harness.Token{Raw: "dora-s-token", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-0000000000a4", Name: "dora@contoso.example"}
)

// assigned has dora read machines of a subscription, one by one: at each and, where there are
// more assignments than machines, at extensions of theirs.
const assigned = `WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i + 1 < %d),
		of(i, at, below) AS (SELECT i, 'vm' || (i %% 1000), CASE WHEN i < 1000 THEN '' ELSE '/extensions/e' || (i / 1000) END FROM c)
	INSERT INTO role_assignments (subscription, scope, name, tenant, principal, role, scope_id, condition, properties, generation, etag, created, changed)
		SELECT {id 0}, '/subscriptions/' || {id 0} || '/resourcegroups/rg' || (i %% 1000 / 100) || '/providers/contoso.compute/virtualmachines/' || at || below,
			{id 3000000000 + i}, '{tenant}', '{caller}', '{role}',
			'/subscriptions/' || {id 0} || '/resourceGroups/rg' || (i %% 1000 / 100) || '/providers/Contoso.Compute/virtualMachines/' || at || below, '', '{}', {bytes}, '', {time}, {time} FROM of`

// TestRoles measures what assignments in one subscription cost, of which one caller has
// nearly all.
func TestRoles(t *testing.T) {
	powers := powersOf(t, *assignments)
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			publish(t, "Roles over "+engine, "make evidence", fmt.Sprintf("10 to the powers of %s assignments", *assignments), powers, nil, func() []measured {
				return measure(t, roleQuantities(), powers, func(t *testing.T, power int) *estate {
					return newEstate(t, engine, 10_000, harness.Config{
						Tokens: []harness.Token{alice, dora}, Owners: []string{alice.ObjectID},
						Extra: "limits: {roleAssignmentsPerSubscription: 100000}\n",
					}, fmt.Sprintf(assigned, int(math.Pow10(power))))
				})
			})
		})
	}
}

func roleQuantities() []quantity {
	byDora := func(name string, path func(i int) string) quantity {
		return quantity{name: name + ", ms", measure: func(t *testing.T, e *estate) []float64 {
			i := 0
			return e.each(t, 100, func(int) harness.Request { i++; return asDora(path(i)) })
		}}
	}
	machine := func(i int) string { return machineID(0, i%10) + "?api-version=" + harness.Version }
	first := func(int) string { return subscription0 + "/resources?api-version=2021-04-01&$top=100" }
	return []quantity{
		decides(byDora("GET of a resource", machine)),
		decides(byDora("first page of the resources that the caller may read, at most 100", first)),
		{decides: true, name: "GET of a resource right after a role was assigned in its subscription, ms", measure: func(t *testing.T, e *estate) (took []float64) {
			for i := range 20 {
				e.Do(t, assign(i)).Want(t, 201)
				took = append(took, milliseconds(func() { e.Do(t, asDora(machine(i))).Want(t, 200) }))
			}
			return took
		}},
		{name: "PUT of an assignment, ms", measure: func(t *testing.T, e *estate) (took []float64) {
			for i := range 100 {
				took = append(took, milliseconds(func() { e.Do(t, assign(100+i)).Want(t, 201) }))
			}
			return took
		}},
		{name: "GET of an assignment, ms", measure: func(t *testing.T, e *estate) []float64 {
			return e.each(t, 100, func(int) harness.Request { return harness.Request{Path: assign(100).Path} })
		}},
		{name: "first page of the assignments, 100 at most, ms", grows: 1, measure: func(t *testing.T, e *estate) []float64 {
			return e.each(t, 100, func(int) harness.Request { return harness.Request{Path: listed + "&$top=100"} })
		}},
		{name: "assignments of one principal, ms", grows: 1, measure: func(t *testing.T, e *estate) []float64 {
			return e.each(t, 100, func(int) harness.Request {
				return harness.Request{Path: listed + "&$filter=principalId%20eq%20'" + principalOf(100) + "'"}
			})
		}},
		{name: "all assignments, page by page, ms", grows: 10, measure: func(t *testing.T, e *estate) (took []float64) {
			for range 10 {
				took = append(took, milliseconds(func() {
					for next := listed; next != ""; {
						page := e.Do(t, harness.Request{Path: next}).Want(t, 200).JSON(t)
						link, _ := page["nextLink"].(string)
						next = strings.TrimPrefix(link, e.URL)
					}
				}))
			}
			return took
		}},
	}
}

var (
	subscription0 = "/subscriptions/" + subscriptionID(0)
	listed        = subscription0 + "/providers/Microsoft.Authorization/roleAssignments?api-version=2022-04-01"
)

func asDora(path string) harness.Request {
	return harness.Request{Path: path, Header: harness.Header("Authorization", "Bearer "+dora.Raw)}
}

func principalOf(i int) string { return fmt.Sprintf("00000000-0000-0000-0004-%012d", i) }

// assign assigns a role to somebody else.
func assign(i int) harness.Request {
	return harness.Request{
		Method: http.MethodPut, Path: fmt.Sprintf("%s/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0005-%012d?api-version=2022-04-01", subscription0, i),
		Body: fmt.Sprintf(`{"properties":{"principalId":%q,"principalType":"User","roleDefinitionId":"%s/providers/Microsoft.Authorization/roleDefinitions/%s"}}`, principalOf(i), subscription0, reader),
	}
}
