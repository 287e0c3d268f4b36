package rbac

import (
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"testing"

	"portico/arm"
	"portico/routing"
)

func TestFilter(t *testing.T) {
	for text, want := range map[string][]term{
		"":                         nil,
		"  ":                       nil,
		"atScope()":                {{field: "atscope()"}},
		" ATSCOPE ( ) ":            {{field: "atscope()"}},
		"principalId eq 'a'":       {{"principalid", "a"}},
		"PrincipalID EQ  'it''s' ": {{"principalid", "it's"}},
		"assignedTo('a')":          {{"assignedto()", "a"}},
		"assignedTo( 'a' )":        {{"assignedto()", "a"}},
		"assignedTo('a)(')":        {{"assignedto()", "a)("}},
		"atScope() and principalId eq 'a and b' AND assignedTo('c')": {{field: "atscope()"}, {"principalid", "a and b"}, {"assignedto()", "c"}},
	} {
		if got, err := read(t, text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"atScope", "atScope() or principalId eq 'a'", "atScope() and", "and", "principalId ne 'a'", "principalId eq a", "principalId eq 'a",
		"asTarget()", "assignedTo('a'", "atScope() principalId eq 'a'", "(atScope())", "roleName eq 'a'", "principalId", "principalId eq", "'a'", "()",
	} {
		var fault *arm.Error
		if got, err := read(t, text); !errors.As(err, &fault) || fault.Code != arm.InvalidQueryParameter {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
}

func read(t *testing.T, filter string) ([]term, error) {
	t.Helper()
	q, fault := routing.Classify(nil, http.MethodGet, "/providers/Microsoft.Authorization/roleAssignments", "api-version=2022-04-01&$filter="+url.QueryEscape(filter))
	if fault != nil {
		t.Fatal(fault)
	}
	return filterOf(q, atScope, assignedTo, principalID)
}
