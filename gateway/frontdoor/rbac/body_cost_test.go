package rbac

import (
	"net/http"
	"testing"

	"portico/gateway/exchange"
	"portico/inventory/assignments"
	"portico/routing"
	"portico/test/bodycost"
)

func TestReadingABodyCostsLittle(t *testing.T) {
	x := func(of string) *exchange.Exchange {
		q, fault := routing.Classify(nil, http.MethodPut, "/subscriptions/"+someone+"/providers/Microsoft.Authorization/"+of+"/"+someone, "api-version=2022-04-01")
		if fault != nil {
			t.Fatal(fault)
		}
		return &exchange.Exchange{Request: q}
	}
	assignment, definition := x(assignmentsName), x(definitionsName)
	at := place{Scope: assignments.Scope{ID: "/subscriptions/" + someone}}
	bodycost.Check(t, []bodycost.Reader{
		{
			Name: "role assignment",
			Read: func(content []byte) error {
				_, err := readAssignment(assignment, content, at)
				return err
			},
			Templates: []string{`%`, `{"properties":%}`, `{"properties":{"principalId":%}}`, `{"properties":{"roleDefinitionId":%}}`, `{"properties":{"principalId":"` + someone + `","roleDefinitionId":%}}`, `{"name":%}`},
			Objects:   []string{`{%}`, `{"properties":{%}}`},
			Members:   []string{"properties", "principalId", "roleDefinitionId", "description", "id", "unknown"},
		},
		{
			Name: "role definition",
			Read: func(content []byte) error {
				_, err := readDefinition(definition, content)
				return err
			},
			Templates: []string{
				`%`, `{"properties":%}`, `{"properties":{"roleName":%}}`, `{"properties":{"roleName":"a","permissions":%}}`, `{"properties":{"roleName":"a","permissions":[%]}}`,
				`{"properties":{"roleName":"a","permissions":[{"actions":%}]}}`, `{"properties":{"roleName":"a","permissions":[{"actions":["*"]}],"assignableScopes":%}}`, `{"name":%}`,
			},
			Objects: []string{`{%}`, `{"properties":{%}}`, `{"properties":{"permissions":[{%}]}}`},
			Members: []string{"properties", "roleName", "permissions", "actions", "assignableScopes", "unknown"},
		},
	})
}

const someone = "00000000-0000-0000-0000-000000000001"
