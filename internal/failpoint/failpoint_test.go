package failpoint

import (
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every constant of the type Point is in the list, once, with one sentence.
func TestTheListIsClosed(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if kind, named := typeOf(spec, ok); named && kind == "Point" {
				for _, v := range spec.Values {
					declared = append(declared, strings.Trim(v.(*ast.BasicLit).Value, `"`))
				}
			}
			return true
		})
	}
	var listed []string
	for _, d := range All() {
		listed = append(listed, string(d.Point))
		if !strings.HasSuffix(d.Says, ".") || strings.Count(d.Says, ". ") > 0 {
			t.Errorf("%s: %q is not one sentence", d.Point, d.Says)
		}
	}
	slices.Sort(declared)
	slices.Sort(listed)
	if !slices.Equal(declared, listed) || len(listed) != len(slices.Compact(slices.Clone(listed))) {
		t.Errorf("declared:\n%q\nlisted:\n%q", declared, listed)
	}
}

func typeOf(spec *ast.ValueSpec, ok bool) (string, bool) {
	if !ok {
		return "", false
	}
	kind, named := spec.Type.(*ast.Ident)
	if !named {
		return "", false
	}
	return kind.Name, true
}

// The package is the lowest: it imports nothing of the project.
func TestImportsNothingOfTheProject(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			if strings.HasPrefix(i.Path.Value, `"portico`) {
				t.Errorf("%s imports %s", name, i.Path.Value)
			}
		}
	}
}

func TestRules(t *testing.T) {
	for text, want := range map[string]Rule{
		"fail":                      {Action: Fail},
		"pause":                     {Action: Pause, Bound: DefaultPause},
		"pause:1.5s,after=3,once\n": {Action: Pause, Bound: 1500 * time.Millisecond, After: 3, Once: true},
		"kill,p=0.25":               {Action: Kill, Probability: 0.25},
		"exit,once":                 {Action: Exit, Once: true},
	} {
		got, err := ParseRule(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if again, err := ParseRule(got.String()); err != nil || again != got {
			t.Errorf("%q is shown as %q: %+v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "stop", "pause:", "pause:0s", "pause:2m", "kill:1s", "fail,after=0", "fail,after=x", "fail,p=2", "fail,p=0", "fail,once=1", "fail,sometimes", "fail;kill"} {
		if got, err := ParseRule(text); err == nil {
			t.Errorf("%q is taken as %+v", text, got)
		}
	}
	rules, err := parseRules("store.commit.after=fail,after=3 ; job.claim.before=kill;")
	if err != nil || len(rules) != 2 || rules[StoreCommitAfter].After != 3 || rules[JobClaimBefore].Action != Kill {
		t.Errorf("%+v, %v", rules, err)
	}
	for _, text := range []string{"store.commit=fail", "store.commit.after", "store.commit.after=x", "write.begin.after=fail"} {
		if rules, err := parseRules(text); err == nil {
			t.Errorf("%q is taken as %+v", text, rules)
		}
	}
}

func newRegistry(t *testing.T) (*Registry, *[]Action) {
	t.Helper()
	ends := &[]Action{}
	r := NewRegistry(func(a Action) { *ends = append(*ends, a) })
	t.Cleanup(r.Close)
	return r, ends
}

func rule(t *testing.T, text string) Rule {
	t.Helper()
	r, err := ParseRule(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *Registry) state(p Point) State {
	for _, s := range r.States() {
		if s.Name == p {
			return s
		}
	}
	return State{}
}

func TestWhenARuleHolds(t *testing.T) {
	r, ends := newRegistry(t)
	hits := func(n int) (failed []int) {
		for i := range n {
			err := r.Hit(JobClaimAfter)
			var failure *Failure
			switch {
			case err == nil:
			case errors.As(err, &failure) && failure.Point == JobClaimAfter:
				failed = append(failed, i)
			default:
				t.Fatal(err)
			}
		}
		return failed
	}
	want := func(got []int, want ...int) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("failed at %v, want %v", got, want)
		}
	}
	want(hits(3))
	r.Set(JobClaimAfter, rule(t, "fail"))
	want(hits(2), 0, 1)
	r.Set(JobClaimAfter, rule(t, "fail,after=2,once"))
	want(hits(5), 2)
	if s := r.state(JobClaimAfter); s.Hits != 10 || s.Fired != 3 || s.Rule != "" {
		t.Errorf("%+v", s)
	}
	r.Set(JobClaimAfter, rule(t, "fail,p=0.5"))
	if n := len(hits(1000)); n == 0 || n == 1000 {
		t.Errorf("with a probability it failed %d times of 1000", n)
	}
	r.Clear(JobClaimAfter)
	want(hits(3))
	r.Set(JobClaimAfter, rule(t, "exit,once"))
	want(hits(1))
	r.Set(JobClaimAfter, rule(t, "kill,once"))
	want(hits(2))
	if !slices.Equal(*ends, []Action{Exit, Kill}) {
		t.Errorf("ended by %v", *ends)
	}
	if err := r.Hit(JobClaimBefore); err != nil {
		t.Errorf("the rule of another point: %v", err)
	}
}

func TestPauses(t *testing.T) {
	r, _ := newRegistry(t)
	pause := func(bound string) (ended chan error) {
		t.Helper()
		r.Set(ObserveAfter, rule(t, "pause:"+bound))
		ended = make(chan error, 1)
		go func() { ended <- r.Hit(ObserveAfter) }()
		return ended
	}
	for _, end := range []func(Point){r.Release, r.Clear, func(Point) { r.Close() }} {
		ended := pause(LongestPause.String())
		for deadline := time.Now().Add(20 * time.Second); r.state(ObserveAfter).Paused != 1; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("it is not paused")
			}
		}
		end(ObserveAfter)
		if err := <-ended; err != nil || r.state(ObserveAfter).Paused != 0 {
			t.Errorf("%v %+v", err, r.state(ObserveAfter))
		}
	}
	if err := <-pause(LongestPause.String()); err != nil { // it is closed
		t.Error(err)
	}
	r, _ = newRegistry(t)
	started := time.Now()
	if err := <-pause("50ms"); err != nil || time.Since(started) < 50*time.Millisecond {
		t.Errorf("%v after %v", err, time.Since(started))
	}
}

func TestControl(t *testing.T) {
	r, _ := newRegistry(t)
	server := httptest.NewServer(r.control())
	defer server.Close()
	call := func(method, path, body string, want int) string {
		t.Helper()
		q, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		a, err := server.Client().Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		if err != nil || a.StatusCode != want {
			t.Fatalf("%s %s: %d %s %v, want %d", method, path, a.StatusCode, text, err, want)
		}
		return string(text)
	}
	call("PUT", "/points/store.commit.after", "fail,once", 204)
	if err := r.Hit(StoreCommitAfter); err == nil {
		t.Error("the rule does not hold")
	}
	call("PUT", "/points/store.commit.after", "pause:1m", 204)
	ended := make(chan error, 1)
	go func() { ended <- r.Hit(StoreCommitAfter) }()
	for paused := false; !paused; {
		var list struct{ Value []State }
		if err := json.Unmarshal([]byte(call("GET", "/points", "", 200)), &list); err != nil || len(list.Value) != len(All()) {
			t.Fatal(list, err)
		}
		for _, s := range list.Value {
			paused = paused || s.Name == StoreCommitAfter && s.Paused == 1 && s.Hits == 2 && s.Rule == "pause:1m0s"
		}
	}
	call("POST", "/points/store.commit.after/release", "", 204)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	call("DELETE", "/points/store.commit.after", "", 204)
	if s := r.state(StoreCommitAfter); s.Rule != "" {
		t.Errorf("%+v", s)
	}
	if text := call("PUT", "/points/store.commit", "fail", 404); !strings.Contains(text, "store.commit.before, store.commit.after") {
		t.Error(text)
	}
	if text := call("PUT", "/points/store.commit.after", "stop", 400); !strings.Contains(text, "pause:DURATION") {
		t.Error(text)
	}
	call("PUT", "/points/write.begin.after", "fail", 400)
	call("DELETE", "/points/store", "", 404)
}

func TestStart(t *testing.T) {
	environment := func(pairs ...string) func(string) string {
		return func(name string) string {
			if i := slices.Index(pairs, name); i >= 0 {
				return pairs[i+1]
			}
			return ""
		}
	}
	for _, bad := range []func(string) string{
		environment(RulesVariable, "store=fail"),
		environment(ListenVariable, "0.0.0.0:0"),
		environment(ListenVariable, "192.168.1.1:80"),
		environment(ListenVariable, "localhost"),
	} {
		r, _ := newRegistry(t)
		if _, err := r.start(t.Context(), bad); err == nil {
			t.Error("it starts with what is wrong")
		}
	}
	for _, good := range []func(string) string{
		environment(RulesVariable, "job.claim.before=fail"),
		environment(RulesVariable, "job.claim.before=fail", ListenVariable, "127.0.0.1:0"),
		environment(RulesVariable, "job.claim.before=fail", ListenVariable, "[::1]:0"),
	} {
		r, _ := newRegistry(t)
		ctx, cancel := context.WithCancel(t.Context())
		stop, err := r.start(ctx, good)
		if err != nil {
			if strings.Contains(err.Error(), "::1") { // a machine without it
				cancel()
				continue
			}
			t.Fatal(err)
		}
		if r.Hit(JobClaimBefore) == nil {
			t.Error("the rule does not hold")
		}
		cancel()
		for deadline := time.Now().Add(20 * time.Second); r.Hit(JobClaimBefore) != nil; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the rule outlives the context")
			}
		}
		stop()
	}
}

// What the tests are built with says which of the two is held.
func TestEnabled(t *testing.T) {
	stop, err := Start(t.Context(), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if err := Hit(StoreCommitBefore); err != nil {
		t.Error(err)
	}
	Pass(StoreCommitBefore)
	if allocated := testing.AllocsPerRun(100, func() { Pass(StoreCommitBefore) }); !Enabled && allocated > 0 {
		t.Errorf("%v allocations at a point that does nothing", allocated)
	}
}
