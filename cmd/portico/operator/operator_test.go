package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/goccy/go-yaml"
	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"

	"portico/gateway/admin/api"
)

// commandsOfAll are one command line for each thing that is shown.
var commandsOfAll = []string{
	"status", "regions", "providers", "subscriptions", "resources list --subscription " + someSubscription, "why " + someID, "jobs list",
	"jobs -o json", "sinks", "resources --subscription " + someSubscription, "roles --subscription " + someSubscription,
	"jobs show cdef", "locks --subscription " + someSubscription, "roles list --subscription " + someSubscription, "fences", "doubts", "changes", "errors", "errors --by-subscription", "configuration", "configuration history",
	"changes --resource " + someID, "roles who --action a --scope " + someID, "sinks list", "sinks show audit", "sinks retrying audit", "sinks dead audit",
}

// run runs a command line in this process.
func run(t *testing.T, stdout, stderr io.Writer, line ...string) error {
	t.Helper()
	root := &cobra.Command{Use: "portico", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(Commands(Program{Stdout: stdout, Stderr: stderr})...)
	root.SetArgs(line)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root.ExecuteContext(t.Context())
}

// answer runs a command line against a listener, and returns what it writes.
func answer(t *testing.T, l *listener, line string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	err = run(t, &out, &errs, append(strings.Fields(line), "--admin", l.URL)...)
	return out.String(), errs.String(), err
}

// shows runs a command line that succeeds, and wants texts in what it writes, in this order.
func shows(t *testing.T, l *listener, line string, wants ...string) {
	t.Helper()
	text, _, err := answer(t, l, line)
	if err != nil {
		t.Errorf("portico %s: %v", line, err)
	}
	rest := text
	for _, want := range wants {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Errorf("portico %s does not show %q where it is wanted:\n%s", line, want, text)
			return
		}
		rest = after
	}
}

// refuses runs a command line that fails, and wants texts in what it says.
func refuses(t *testing.T, l *listener, line string, wants ...string) {
	t.Helper()
	text, _, err := answer(t, l, line)
	if err == nil {
		t.Errorf("portico %s: no error\n%s", line, text)
		return
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("portico %s does not say %q: %v", line, want, err)
		}
	}
}

// alone keeps what the machine's user has set out of a test.
func alone(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	t.Setenv(TokenVariable, "")
	t.Setenv(AdminVariable, "")
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	return folder
}

// onTerminal runs a command line on a terminal of so many columns, and returns what it
// writes there.
func onTerminal(t *testing.T, l *listener, columns int, line string) string {
	t.Helper()
	keyboard, screen, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer keyboard.Close()
	if err := pty.Setsize(screen, &pty.Winsize{Cols: uint16(columns), Rows: 24}); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(keyboard) // to the error that is its end
		shown <- string(text)
	}()
	err = run(t, screen, io.Discard, append(strings.Fields(line), "--admin", l.URL)...)
	if err != nil && !errors.Is(err, ErrReported) {
		t.Errorf("%s: %v", line, err)
	}
	screen.Close()
	return strings.ReplaceAll(<-shown, "\r\n", "\n")
}

// On a terminal no line is longer than that is wide, whatever there is to say, and nothing
// that a service answers reaches it as a command.
func TestEverythingFitsTheTerminal(t *testing.T) {
	alone(t)
	l := startListener(t, answers())
	for _, columns := range []int{60, 80, 100, 132, 250} {
		for _, line := range commandsOfAll {
			t.Setenv("NO_COLOR", "1")
			text := onTerminal(t, l, columns, line)
			if !strings.Contains(text, "\n") || strings.ContainsAny(text, "\x1b\u202e") {
				t.Errorf("portico %s shows %q", line, text)
			}
			for shown := range strings.Lines(text) {
				whole := strings.HasPrefix(shown, "/subscriptions/") || strings.HasPrefix(shown, "portico unstick ") || strings.HasPrefix(shown, "subject ") || strings.HasSuffix(line, "-o json") // IDs and commands, to be copied; what programs read
				if w := uniseg.StringWidth(strings.TrimRight(shown, "\n")); w > columns && !whole {
					t.Errorf("portico %s on %d columns has a line of %d:\n%s", line, columns, w, shown)
				}
			}
		}
	}
}

// What tells the rows apart stays, however narrow it is.
func TestWhatIsShownAt80Columns(t *testing.T) {
	alone(t)
	t.Setenv("NO_COLOR", "1")
	l := startListener(t, answers())
	for line, wants := range map[string][]string{
		"status":                            {"critical  The region northeurope is down", "since 3m ago", "next: portico regions", "17 of them", "Portico 1.2.3 in westus"},
		"regions":                           {"northeur", "down", "connec", "-2.northeurope.example.com:8443", "nowhere"},
		"providers":                         {"Contoso.Compute", "virtualMachines/disks", "operations"},
		"subscriptions":                     {someSubscription, somebody, "Deleted, erased"},
		"jobs list":                         {"456789abcdef", "group-delete", "Waiting", "10 of 40"},
		"doubts":                            {"-with-a-long-name", "writeWithoutAnswer"},
		"fences":                            {"-with-a-long-name", "PUT"},
		"jobs show cdef":                    {"Done", "waitingFor"},
		"why " + someID:                     {"It waits for northeurope: ", "\n# Try again now. ", "\nportico unstick " + someSubscription + ".0123456789abcdef0123456789abcdef --ask\n", "3m ago", "virtualMachines/write Fa", "Ada", "CanNotDelete"},
		"sinks list":                        {"audit", "Away", "1234", "17", "denied, 401"},
		"sinks show audit":                  {"denied, 401", "portico unstick sink/audit/4711 --ask", "portico sinks retrying audit", "portico sinks dead audit"},
		"sinks retrying audit":              {"4711", "refused, 422", "-with-a-long-name", "4712", "waits for another"},
		"sinks dead audit":                  {"4700", "refused, 422", "no longer kept", "-with-a-long-name"},
		"locks --subscription " + someGroup: {"CanNotDelete", "a-group-with-a-long-name"},
	} {
		text := onTerminal(t, l, 80, line)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("portico %s does not show %q:\n%s", line, want, text)
			}
		}
	}
}

func TestColoursAreForTerminalsThatWantThem(t *testing.T) {
	alone(t)
	l := startListener(t, answers())
	if text := onTerminal(t, l, 80, "jobs list"); !strings.Contains(text, "\x1b[32mDone") {
		t.Errorf("no colour on a terminal: %q", text)
	}
	if text, _, _ := answer(t, l, "jobs list"); strings.Contains(text, "\x1b") {
		t.Errorf("colours in a pipe: %q", text)
	}
	t.Setenv("TERM", "dumb")
	if text := onTerminal(t, l, 80, "jobs list"); strings.Contains(text, "\x1b") {
		t.Errorf("colours on a dumb terminal: %q", text)
	}
}

// JSON and YAML are what the service answered, the pages of a list joined.
func TestDocumentsAreWhatTheServiceAnswered(t *testing.T) {
	alone(t)
	all := answers()
	l := startListener(t, all)
	for line, operation := range map[string]string{
		"status": "GET /admin/status", "regions": "GET /admin/regions", "providers": "GET /admin/providers", "subscriptions": "GET /admin/subscriptions",
		"resources list --subscription x": "GET /admin/resources", "why /x": "GET /admin/why", "why cdef": "GET /admin/why", "jobs list": "GET /admin/jobs", "jobs show x.1": "GET /admin/jobs/{id}",
		"jobs watch x.1": "GET /admin/jobs/{id}", "jobs cancel x.1": "POST /admin/jobs/{id}/cancel", "locks --subscription x": "GET /admin/locks",
		"roles list --subscription x": "GET /admin/roles", "fences": "GET /admin/fences", "doubts": "GET /admin/doubts", "reload": "POST /admin/reload",
		"roles check --principal " + somebody + " --action a --scope s": "POST /admin/roles/check", "roles who --action a --scope s": "POST /admin/roles/who", "changes": "GET /admin/changes",
		"sinks list": "GET /admin/sinks", "sinks show audit": "GET /admin/sinks/{name}", "sinks retrying audit": "GET /admin/sinks/{name}/retrying",
		"sinks dead audit": "GET /admin/sinks/{name}/dead", "sinks test audit": "POST /admin/sinks/{name}/test", "sinks replay audit --all": "POST /admin/sinks/{name}/dead/replay",
	} {
		text, _ := json.Marshal(all[operation])
		var want any
		_ = json.Unmarshal(text, &want)
		if line == "changes" { // the listener answers the same page twice; the second time that is the end
			value := want.(map[string]any)["value"].([]any)
			want.(map[string]any)["value"] = append(value, value...)
		}
		for _, format := range []string{"json", "yaml"} {
			shown, _, err := answer(t, l, line+" -o "+format)
			if err != nil && !errors.Is(err, ErrReported) {
				if status, ok := errors.AsType[*StatusError](err); !ok || !errors.Is(status.Err, ErrReported) {
					t.Errorf("%s: %v", line, err)
				}
			}
			var got any
			if format == "json" {
				err = json.Unmarshal([]byte(shown), &got)
			} else if err = yaml.Unmarshal([]byte(shown), &got); err == nil {
				text, _ := json.Marshal(got)
				err = json.Unmarshal(text, &got)
			}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("portico %s -o %s: %v\n%s\nwant\n%v", line, format, err, shown, want)
			}
		}
	}
}

func TestFirstOfAList(t *testing.T) {
	alone(t)
	l := startListener(t, answers())
	text, hint, err := answer(t, l, "jobs list --limit 1")
	if err != nil || strings.Count(text, "\n") != 2 || !strings.Contains(hint, "--limit") {
		t.Errorf("%v\n%s%s", err, text, hint)
	}
	text, _, err = answer(t, l, "jobs list --limit 1 -o json")
	var page api.Page[api.Job]
	if err != nil || json.Unmarshal([]byte(text), &page) != nil || len(page.Value) != 1 {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestStatusIsForScripts(t *testing.T) {
	alone(t)
	l := startListener(t, answers())
	exit := func(want int, what string) {
		t.Helper()
		_, _, err := answer(t, l, "status")
		got := 0
		if status, ok := errors.AsType[*StatusError](err); ok {
			got = status.Status
		} else if err != nil {
			got = 1
		}
		if got != want {
			t.Errorf("%s: exit status %d, want %d (%v)", what, got, want, err)
		}
	}
	exit(1, "critical")
	l.set("GET /admin/status", api.Status{Problems: []api.Problem{{Severity: api.Warning, Summary: "It will fail."}}})
	exit(0, "a warning")
	l.set("GET /admin/status", refusal{401, "AuthenticationFailed", "no"})
	exit(2, "without a token")
	l.Close()
	exit(2, "nobody there")
}

// An error says what to do next.
func TestErrorsSayWhatToDoNext(t *testing.T) {
	folder := alone(t)
	l := startListener(t, answers())
	l.set("GET /admin/jobs/{id}", refusal{404, "ResourceNotFound", "There is no such job."})
	l.set("GET /admin/fences", refusal{401, "AuthenticationFailed", "no"})
	l.set("GET /admin/sinks/{name}", refusal{404, "ResourceNotFound", "There is no such sink."})
	l.set("GET /admin/sinks/{name}/dead", refusal{404, "ResourceNotFound", "There is no such sink."})
	l.set("POST /admin/sinks/{name}/dead/replay", api.Replayed{})
	tls := httptest.NewUnstartedServer(l)
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	t.Cleanup(tls.Close)
	gone := httptest.NewServer(l)
	gone.Close()
	token := filepath.Join(folder, "token")
	if err := os.WriteFile(token, []byte("geheim\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, wants := range map[string][]string{
		"jobs list --admin " + gone.URL:                                   {gone.URL, "--admin", "--config FILE", AdminVariable},
		"jobs list --admin " + tls.URL:                                    {"--ca FILE"},
		"jobs list --admin " + strings.Replace(l.URL, "http", "https", 1): {"use http"},
		"jobs show a.b --admin " + l.URL:                                  {"There is no such job.", "portico jobs list"},
		"jobs cancel ffff --admin " + l.URL:                               {"ffff", "portico jobs list"},
		"fences --admin " + l.URL:                                         {TokenVariable, "--token-file"},
		"fences --token-file " + token + " --admin " + l.URL:              {"does not accept this token", "server.adminTokens"},
		"fences --admin nonsense":                                         {"nonsense", "http://127.0.0.1:8081"},
		"reload":                                                          {"name the service", "--admin URL", AdminVariable},
		"retire westus":                                                   {"name the service"},
		"sweep":                                                           {"name the service"},
		"jobs cancel a.b":                                                 {"name the service"},
		"sinks test audit":                                                {"name the service"},
		"sinks replay audit --all":                                        {"name the service"},
		"sinks show none --admin " + l.URL:                                {"There is no such sink.", "portico sinks list"},
		"sinks dead none --admin " + l.URL:                                {"There is no such sink.", "portico sinks list"},
		"sinks replay audit --admin " + l.URL:                             {"portico sinks dead audit", "--all"},
		"sinks replay audit 17 --all --admin " + l.URL:                    {"portico sinks dead audit", "--all"},
		"sinks replay audit 17 --admin " + l.URL:                          {"no such dead letter", "portico sinks dead audit"},
		"sinks forget audit 17 --admin " + l.URL:                          {"--reason TEXT", "--yes"},
		"sinks forget audit 17 --yes --admin " + l.URL:                    {"--reason TEXT"},
		"unstick sink/audit/17 --give-up --admin " + l.URL:                {"--reason TEXT", "dead letter"},
		"unstick sink/audit/17 --forget --reason r --admin " + l.URL:      {"--yes"},
		"unstick /a/b --give-up --resource /a/b --admin " + l.URL:         {"--resource", "the job or the URL"},
		"unstick sink/ --ask --admin " + l.URL:                            {"sink/NAME/EVENT", "portico sinks list"},
		"jobs list -o xml --admin " + l.URL:                               {"table, wide, json, yaml"},
		"jobs list --watch=1ms --admin " + l.URL:                          {"100ms"},
	} {
		err := run(t, io.Discard, io.Discard, strings.Fields(line)...)
		if err == nil {
			t.Errorf("portico %s: no error", line)
			continue
		}
		for _, want := range wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("portico %s does not say %q: %v", line, want, err)
			}
		}
		if strings.Contains(err.Error(), "geheim") {
			t.Errorf("portico %s tells the token", line)
		}
	}
}

// The environment names a service unless a flag does, and the file of a token goes before
// the token of the environment.
func TestEnvironmentNamesTheService(t *testing.T) {
	folder := alone(t)
	one, other := startListener(t, answers()), startListener(t, answers())
	token := filepath.Join(folder, "token")
	if err := os.WriteFile(token, []byte("of-the-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(AdminVariable, one.URL)
	t.Setenv(TokenVariable, "of-the-environment")
	for _, c := range []struct {
		line   string
		asked  *listener
		bearer string
	}{
		{"fences", one, "of-the-environment"},
		{"fences --token-file " + token, one, "of-the-file"},
		{"fences --admin " + other.URL, other, "of-the-environment"},
		{"reload", one, "of-the-environment"}, // a command that changes something
	} {
		before := c.asked.count()
		if err := run(t, io.Discard, io.Discard, strings.Fields(c.line)...); err != nil {
			t.Errorf("portico %s: %v", c.line, err)
		} else if c.asked.count() == before || c.asked.last().Header.Get("Authorization") != "Bearer "+c.bearer {
			t.Errorf("portico %s did not send the token %s there", c.line, c.bearer)
		}
	}
}

func TestCompletion(t *testing.T) {
	alone(t)
	l := startListener(t, answers())
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(silent.Close)
	t.Setenv(AdminVariable, l.URL)
	for _, c := range []struct {
		line []string
		want string
	}{
		{[]string{"jobs", "show", ""}, someSubscription + ".0123456789abcdef0123456789abcdef\tgroup-delete Waiting"},
		{[]string{"resources", "list", "--region", ""}, "northeurope\tdown"},
		{[]string{"locks", "--subscription", ""}, someSubscription},
		{[]string{"jobs", "list", "--kind", ""}, "group-delete"},
		{[]string{"jobs", "list", "-o", ""}, "yaml"},
		{[]string{"sinks", "show", ""}, "audit\tAway"},
		{[]string{"sinks", "replay", ""}, "audit\tAway"},
		{[]string{"sinks", "dead", ""}, "audit\tAway"},
		{[]string{"jobs", "show", "--admin", silent.URL, ""}, ":4"},
	} {
		var out bytes.Buffer
		if err := run(t, &out, io.Discard, append([]string{cobra.ShellCompRequestCmd}, c.line...)...); err != nil {
			t.Errorf("%q: %v", c.line, err)
		}
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%q is completed by\n%s\nwithout %q", c.line, out.String(), c.want)
		}
	}
}

// Where it is watched off a terminal it is written again; what is amiss for a time is said
// and does not end it.
func TestWatch(t *testing.T) {
	alone(t)
	l := startListener(t, answers())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &lines{}
	root := &cobra.Command{Use: "portico"}
	root.AddCommand(Commands(Program{Stdout: out, Stderr: out})...)
	root.SetArgs([]string{"fences", "--watch=100ms", "--admin", l.URL})
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	out.wait(t, "PUT", 2)
	l.set("GET /admin/fences", refusal{503, "Conflict", "The store does not answer."})
	out.wait(t, "The store does not answer.", 2)
	l.set("GET /admin/fences", api.Page[api.Fence]{Value: []api.Fence{}})
	out.wait(t, "There is no fence.", 2)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A list that belongs to a subscription is, without one, the list of all.
func TestListsOverAllSubscriptions(t *testing.T) {
	alone(t)
	all := answers()
	l := startListener(t, all)
	for line, want := range map[string]string{"resources": "A.B/c/d", "resources list": "A.B/c/d", "roles": "User Access", "roles list": "User Access", "locks": "CanNotDelete"} {
		text, _, err := answer(t, l, line+" -o wide")
		if err != nil || strings.Count(text, want) != 2 { // of each of the two subscriptions
			t.Errorf("portico %s: %v\n%s", line, err, text)
		}
		text, hint, err := answer(t, l, line+" --limit 1")
		if err != nil || strings.Count(text, "\n") != 2 || !strings.Contains(hint, "--limit") {
			t.Errorf("portico %s --limit 1: %v\n%s%s", line, err, text, hint)
		}
		text, _, err = answer(t, l, line+" -o json")
		var page struct{ Value []json.RawMessage }
		if err != nil || json.Unmarshal([]byte(text), &page) != nil || len(page.Value) < 2 || len(page.Value)%2 != 0 {
			t.Errorf("portico %s -o json: %v\n%s", line, err, text)
		}
	}
	l.set("GET /admin/subscriptions", api.Page[api.Subscription]{Value: []api.Subscription{}})
	shows(t, l, "locks", "There is no lock.")
	shows(t, l, "resources --region nowhere", "The index has no such resource.")
}
