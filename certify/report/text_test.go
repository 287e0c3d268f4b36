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
		{Case: "move/b", Section: "resource reference, Move Resource", Outcome: contract.LeftOut, Why: "the profile move is not claimed"},
		{Case: "tags/a", Section: "resource reference, Put Resource", Outcome: contract.LeftOut, Why: "no means"},
		{
			Case: "put/b", Type: "Some.Where/things", Section: "resource reference, Put Resource", Guideline: "RPC-Put-V1-11", Rule: "the rule", Outcome: contract.Broken,
			Faults: []contract.Fault{{Expected: "PUT …/a answers 200", Got: "500, \x1b[2J\u202e\r\nno body", Exchange: &contract.Exchange{Curl: "curl -i a"}}},
		},
	}
	var b strings.Builder
	if err := Text(&b, results); err != nil {
		t.Fatal(err)
	}
	want := `kept    get/a                     resource reference, Get Resource
broken  put/b  Some.Where/things  resource reference, Put Resource

1 kept, 1 broken, 0 unreached, 3 left out
  left out 2: the profile move is not claimed
  left out 1: no means

put/b Some.Where/things: broken
  resource reference, Put Resource, RPC-Put-V1-11: the rule
  expected: PUT …/a answers 200
  got:      500, �[2J� no body
  again:    curl -i a

`
	if b.String() != want {
		t.Errorf("the report is\n%s\nwant\n%s", b.String(), want)
	}
}
