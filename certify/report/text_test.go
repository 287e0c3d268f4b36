package report

import (
	"strings"
	"testing"

	"portico/certify/contract"
)

func TestText(t *testing.T) {
	results := []contract.Result{
		{Case: "get/a", Section: "resource reference, Get Resource", Outcome: contract.Kept},
		{Case: "move/a", Section: "resource reference, Move Resource", Outcome: contract.LeftOut, Why: "the profile move is not claimed"},
		{
			Case: "put/b", Type: "Some.Where/things", Section: "resource reference, Put Resource", Rule: "the rule", Outcome: contract.Broken,
			Faults: []contract.Fault{{Expected: "PUT …/a answers 200", Got: "500, no body"}},
		},
	}
	var b strings.Builder
	if err := Text(&b, results); err != nil {
		t.Fatal(err)
	}
	want := `kept    get/a                     resource reference, Get Resource
broken  put/b  Some.Where/things  resource reference, Put Resource

1 kept, 1 broken, 0 unreached, 1 left out

put/b Some.Where/things: broken
  resource reference, Put Resource: the rule
  expected: PUT …/a answers 200
  got:      500, no body

`
	if b.String() != want {
		t.Errorf("the report is\n%s\nwant\n%s", b.String(), want)
	}
}
