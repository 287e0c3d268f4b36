package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"portico/provider/certify/contract"
)

// hostile is a text of a provider that would do harm as markup, as XML or on a terminal.
const hostile = "<script>alert(1)</script>\"'&]]>\x00\x1b[2J\u202e"

var began = time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC)

func run() Run {
	return Run{
		Suite: "1.0", Contract: contract.Edition, Began: began, Took: 90 * time.Second,
		Target:  Target{Endpoints: map[string]string{"westus": "https://west.example"}, Types: []string{"Acme.Stuff/widgets"}},
		Claimed: []string{"core", "tags", "etags"},
		Results: []contract.Result{
			{Case: "put/b", Profile: contract.Core, Type: "Acme.Stuff/widgets", Section: "put", Guideline: "RPC-Put-V1-11", Rule: "the rule", Outcome: contract.Broken, Began: began, Took: time.Second, Faults: []contract.Fault{{
				Expected: "200", Got: hostile,
				Exchange: &contract.Exchange{
					Method: "PUT", URL: "https://west.example/a?b", RequestHeader: http.Header{"Content-Type": {"application/json"}}, RequestBody: `{"a":1}`,
					Status: 500, Header: http.Header{"X-Odd": {hostile}}, Body: hostile, BodyNote: "the first 65536 of 70000 bytes", Curl: "curl -i 'https://west.example/a?b'",
				},
			}}},
			{Case: "put/a", Profile: contract.Core, Type: "Acme.Stuff/widgets", Section: "put", Rule: "a rule", Outcome: contract.Kept, Began: began},
			{Case: "tags/a", Profile: contract.Tags, Type: "Acme.Stuff/widgets", Section: "put", Rule: "tags", Outcome: contract.Unreached, Why: "what the case needs first was not to be had", Began: began, Faults: []contract.Fault{{Expected: "a", Got: "b"}}},
			{Case: "etag/a", Profile: contract.ETags, Section: "etags", Rule: "tag", Outcome: contract.LeftOut, Why: "no means", Began: began},
			{Case: "move/a", Profile: contract.Moves, Section: "move", Rule: "move", Outcome: contract.LeftOut, Why: "the profile move is not claimed", Began: began},
		},
		Left: []string{"/subscriptions/s/resourceGroups/" + hostile},
	}
}

// written is the text of one of the files of a run.
func written(t *testing.T, r Run, file string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "new", "directory")
	if err := Write(dir, r); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestResults(t *testing.T) {
	dir := t.TempDir()
	want := run()
	if err := Write(dir, want); err != nil {
		t.Fatal(err)
	}
	got, err := Read(filepath.Join(dir, ResultsFile))
	if err != nil {
		t.Fatal(err)
	}
	want.Results = want.sorted()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v\nwrote %+v", got, want)
	}
	text := written(t, Run{}, ResultsFile)
	if strings.Contains(text, "null") {
		t.Errorf("nothing is written as null: %s", text)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":      "results.json:1: not the results of a run: unexpected end",
		"{\n{}": "results.json:2: not the results of a run: invalid character",
		`[]`:    "results.json:1: not the results of a run: the whole is a JSON array",
		`{"results": 3, "format": "portico-certify/1"}`: "results.json:1: not the results of a run: results is a JSON number",
		`{}`:                               `results.json: not the results of a run: the member "format" is "", but must be "portico-certify/1"`,
		`{"format": "portico-certify/99"}`: `the member "format" is "portico-certify/99"`,
		`{"format": "portico-certify/1", "results": [{"case": "a/b", "outcome": "fine"}]}`: `results[0], of the case a/b: the outcome is "fine", but must be one of ["kept" "broken" "unreached" "left out"]`,
		`{"format": "portico-certify/1", "results": [{"outcome": "kept"}]}`:                `results[0] has no "case"`,
	} {
		file := filepath.Join(t.TempDir(), "results.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
}

func TestVerdicts(t *testing.T) {
	want := []Verdict{
		{contract.Core, true, contract.Broken, Counts{Kept: 1, Broken: 1}},
		{contract.Tags, true, contract.Unreached, Counts{Unreached: 1}},
		{contract.ETags, true, contract.LeftOut, Counts{LeftOut: 1}},
		{contract.Moves, false, contract.LeftOut, Counts{LeftOut: 1}},
	}
	if got := run().Verdicts(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	r := Run{Results: []contract.Result{{Profile: contract.Core, Outcome: contract.Kept}, {Profile: "later", Outcome: contract.Kept}}}
	verdicts := r.Verdicts()
	if len(verdicts) != len(contract.Profiles())+1 || !verdicts[0].Claimed || verdicts[0].Outcome != contract.Kept || verdicts[1].Outcome != contract.LeftOut {
		t.Errorf("of a run that claims everything: %+v", verdicts)
	}
}

func TestHeadline(t *testing.T) {
	claimed := func(outcomes ...contract.Outcome) (all []pageProfile) {
		for i, o := range outcomes {
			all = append(all, pageProfile{Verdict: Verdict{Profile: contract.Profile(rune('a' + i)), Outcome: o}})
		}
		return all
	}
	for _, row := range []struct {
		claimed []pageProfile
		counts  Counts
		outcome contract.Outcome
		words   string
	}{
		// What was left out of profiles that are not claimed is not the headline's.
		{claimed(contract.Kept, contract.Kept), Counts{Kept: 3, LeftOut: 4}, contract.Kept, "All claimed profiles are kept"},
		{
			[]pageProfile{{Verdict: Verdict{Outcome: contract.Kept, Counts: Counts{Kept: 75, LeftOut: 8}}}, {Verdict: Verdict{Outcome: contract.Kept, Counts: Counts{LeftOut: 1}}}},
			Counts{Kept: 75, LeftOut: 20}, contract.Kept, "All claimed profiles are kept; 9 of 84 not tried",
		},
		{claimed(contract.Broken, contract.Unreached, contract.Broken), Counts{Broken: 3}, contract.Broken, "Not kept: a, c"},
		{claimed(contract.Kept, contract.Unreached), Counts{Kept: 1, Unreached: 1}, contract.Unreached, "Not reached: b"},
		{claimed(contract.Kept, contract.LeftOut), Counts{Kept: 1}, contract.LeftOut, "Not tried: b"},
	} {
		if outcome, words, _ := headline(row.claimed, row.counts); outcome != row.outcome || words != row.words {
			t.Errorf("%s, %s; want %s, %s", outcome, words, row.outcome, row.words)
		}
	}
}

func TestJUnit(t *testing.T) {
	text := written(t, run(), JUnitFile)
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
	var got junitSuites
	if err := xml.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if want := (junitCounts{Tests: 5, Failures: 1, Errors: 1, Skipped: 2, Time: "90.000"}); got.junitCounts != want {
		t.Errorf("%+v", got.junitCounts)
	}
	if len(got.Suites) != 4 || got.Suites[0].Name != "core" || got.Suites[0].Timestamp != "2026-11-23T09:30:00" || got.Suites[0].Tests != 2 || got.Suites[0].Time != "1.000" {
		t.Fatalf("%+v", got.Suites)
	}
	kept, broken := got.Suites[0].Cases[0], got.Suites[0].Cases[1]
	if kept.Name != "put/a Acme.Stuff/widgets" || kept.ClassName != "core.put" || kept.Failure != nil || kept.Error != nil || kept.Skipped != nil {
		t.Errorf("a kept one: %+v", kept)
	}
	if broken.Failure == nil || !strings.Contains(broken.Failure.Message, "<script>alert(1)</script>") || !strings.Contains(broken.Failure.Text, "RPC-Put-V1-11") || !strings.Contains(broken.Failure.Text, "curl -i 'https://west.example/a?b'") {
		t.Errorf("a broken one: %+v", broken.Failure)
	}
	if e := got.Suites[1].Cases[0].Error; e == nil || e.Type != "unreached" {
		t.Errorf("an unreached one: %+v", got.Suites[1].Cases[0])
	}
	if s := got.Suites[2].Cases[0].Skipped; s == nil || s.Message != "no means" {
		t.Errorf("one that was left out: %+v", got.Suites[2].Cases[0])
	}
	if strings.ContainsAny(text, "\x00\x1b") {
		t.Error("it has characters that XML forbids")
	}
}

func TestHTML(t *testing.T) {
	text := written(t, run(), HTMLFile)
	for _, forbidden := range []string{"<script>alert", "\x00", "\x1b", "\u202e", "src=", "ZgotmplZ", "@import", "url("} {
		if strings.Contains(text, forbidden) {
			t.Errorf("the page has %q", forbidden)
		}
	}
	for _, wanted := range []string{
		"Certification of Acme.Stuff", "Not kept: core", "1 of 3 trials found a rule of the contract broken. 1 did not reach their rule.", "1 kept, 1 broken, 0 unreached, 0 left out", "Not claimed, and not tried: move (1 trials).",
		`id="put/b@Acme.Stuff/widgets"`, "https://github.com/Azure/azure-openapi-validator/blob/main/docs/put-response-codes.md", "RPC-Put-V1-11 (PutResponseCodes)",
		"500 Internal Server Error", "the first 65536 of 70000 bytes", "curl -i &#39;https://west.example/a?b&#39;", "23 November 2026, 09:30 UTC", "westus https://west.example",
		"the profile move is not claimed", "Not removed", contract.Edition,
	} {
		if !strings.Contains(text, wanted) {
			t.Errorf("the page lacks %q", wanted)
		}
	}
	if strings.Count(text, "<script>") != 1 {
		t.Error("there is not one script alone")
	}
	if text = written(t, Run{}, HTMLFile); !strings.Contains(text, "Certification of a resource provider") {
		t.Errorf("the page of an empty run: %s", text)
	}
}

func TestCompare(t *testing.T) {
	result := func(id string, o contract.Outcome) contract.Result {
		return contract.Result{Case: id, Type: "T/x", Outcome: o}
	}
	of := func(results ...contract.Result) Run {
		return Run{Suite: "1", Contract: "2026-11", Began: began, Results: results}
	}
	for _, row := range []struct {
		what     string
		old, now Run
		worse    bool
		want     string
	}{
		{"nothing", of(result("a", contract.Kept), result("b", contract.Broken)), of(result("b", contract.Broken), result("a", contract.Kept)), false, "nothing has changed\n"},
		{"newly broken", of(result("a", contract.Kept)), of(result("a", contract.Broken)), true, "newly broken: 1\n  a T/x, was kept\n"},
		{"broken once it is reached", of(result("a", contract.Unreached)), of(result("a", contract.Broken)), true, "newly broken: 1\n  a T/x, was unreached\n"},
		{"a new broken one", of(), of(result("a", contract.Broken)), true, "newly broken: 1\n  a T/x, a new case\n"},
		{"a new kept one", of(), of(result("a", contract.Kept)), false, "new cases: 1\n  a T/x: kept\n"},
		{"kept again", of(result("a", contract.Broken)), of(result("a", contract.Kept)), false, "kept again: 1\n  a T/x\n"},
		{"gone", of(result("a", contract.Kept)), of(), false, "removed cases: 1\n  a T/x: was kept\n"},
		{"no more reached", of(result("a", contract.Kept)), of(result("a", contract.Unreached)), true, "other changes: 1\n  a T/x: unreached, was kept\n"},
		{"no more tried", of(result("a", contract.Kept)), of(result("a", contract.LeftOut)), true, "other changes: 1\n  a T/x: left out, was kept\n"},
		{"broken and no more tried", of(result("a", contract.Broken)), of(result("a", contract.LeftOut)), false, "other changes: 1\n  a T/x: left out, was broken\n"},
		{"tried at last", of(result("a", contract.LeftOut)), of(result("a", contract.Kept)), false, "other changes: 1\n  a T/x: kept, was left out\n"},
	} {
		var b strings.Builder
		worse, err := Compare(&b, row.old, row.now)
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(b.String(), "\n\n")
		if worse != row.worse || got != row.want {
			t.Errorf("%s: worse %v\n%s\nwant %v\n%s", row.what, worse, got, row.worse, row.want)
		}
	}
	if _, err := Compare(failing{}, of(), of()); err == nil {
		t.Error("what could not be written is no error")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// A provider that repeats the token of its caller, and cookies: no file has them.
func TestFilesHaveNoSecrets(t *testing.T) {
	const token = "a-token-that-nobody-may-see"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "c="+token)
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		if strings.Contains(r.URL.Path, "/providers/") { // all but the group
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = io.WriteString(w, r.Header.Get("Authorization"))
	}))
	defer server.Close()
	description := &contract.Description{Providers: []*contract.Provider{{
		Namespace: "Acme.Stuff",
		ResourceTypes: []*contract.Type{{
			Name: "widgets", Kind: contract.Tracked, APIVersions: []string{"2020-01-01"},
			Contract: contract.Exercise{Body: contract.Object{"properties": contract.Object{"n": 1}}},
		}},
	}}}
	if err := description.Complete(); err != nil {
		t.Fatal(err)
	}
	holder := contract.Token{Raw: token}
	var found contract.Recorder
	err := contract.Try(t.Context(), contract.Target{
		Adapter:     contract.ThroughDoor(contract.Door{URL: server.URL, Regions: []string{"westus"}, Subscription: "s", Sibling: "t", Owner: holder, Colleague: holder, Stranger: holder}),
		Description: description,
	}, &found)
	if err != nil {
		t.Fatal(err)
	}
	r := Run{Results: found.Results()}
	if c := r.Counts(); c.Broken == 0 && c.Unreached == 0 {
		t.Fatalf("%+v", c)
	}
	for _, file := range []string{HTMLFile, JUnitFile, ResultsFile} {
		if strings.Contains(written(t, r, file), token) {
			t.Errorf("the token is in %s", file)
		}
	}
}

// What the schema says of the members is held in test/deploy; here, that it is JSON.
func TestSchemaIsJSON(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash("../../../configs/certify-results.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(text) {
		t.Error("it is not")
	}
}
