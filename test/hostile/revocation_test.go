package hostile

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

// gate holds GETs of things/slow: the first one signals its arrival, and all continue
// once the gate is open.
func (w world) gate(t *testing.T) (arrived, open chan struct{}) {
	t.Helper()
	arrived, open = make(chan struct{}, 100), make(chan struct{})
	w.provider.On(http.MethodGet, "/things/slow", func(rw http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-open:
		case <-r.Context().Done():
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(rw, `{"id":%q}`, r.URL.Path)
	})
	return arrived, open
}

// reload writes a configuration and waits until it is loaded.
func (w world) reload(t *testing.T, text string) {
	t.Helper()
	const read = "portico_config_last_reload_timestamp_seconds"
	before := w.Portico.Metric(t, read)
	w.Portico.Write(t, text)
	w.Portico.SendHangup(t)
	eventuallySettled(t, "reading of the configuration", func() bool { return w.Portico.Metric(t, read) > before })
}

// text is the configuration with other tokens, and the same owners.
func (w world) text(t *testing.T, tokens ...harness.Token) string {
	t.Helper()
	c := w.Config
	c.Tokens = tokens
	c.Owners = []string{harness.IssuedTo, alice.ObjectID, carol.ObjectID, bob.ObjectID}
	return w.Portico.Text(t, c)
}

// slow creates a resource behind a gate, and a batch of GETs of it.
func (w world) slow(t *testing.T, n int) string {
	t.Helper()
	w.group(t, "rg")
	thing := w.thing("rg", "slow")
	w.put(t, thing)
	return batchOf(n, thing+api)
}

// A token is removed during a batch that it started: no further request of the batch is
// sent. Its principal uses another token meanwhile, and sees that.
func TestARemovedTokenEndsItsBatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{Settings: "batch: {immediate: 1, atOnce: 1}\n"})
	body := w.slow(t, 4)
	arrived, open := w.gate(t)
	poll := w.begin(t, alice, body)
	<-arrived
	again := alice
	again.Raw = "alice-token-2"
	w.reload(t, w.text(t, again, carol, bob))
	w.as(t, alice, http.MethodGet, poll, "").WantError(t, 401, "InvalidAuthenticationToken")
	close(open)
	all := w.end(t, again, poll)
	if len(all) != 4 || all[0].HTTPStatusCode != 200 {
		t.Fatalf("%d answers, the first %d", len(all), all[0].HTTPStatusCode)
	}
	for _, r := range all[1:] {
		if r.HTTPStatusCode != 401 || r.code() != "InvalidAuthenticationToken" {
			t.Errorf("%d %s", r.HTTPStatusCode, r.Content)
		}
	}
	if n := len(arrived); n > 0 {
		t.Errorf("%d requests were sent for a token that was removed", n)
	}
}

// A batch is resumed after a restart, when its token no longer exists.
func TestABatchOfARemovedTokenIsNotResumed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		started []harness.Token
	}{{"tokens", []harness.Token{alice, carol, bob}}, {"none", nil}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{Settings: "jobs: {lease: 1s}\nbatch: {immediate: 1, atOnce: 1}\n"})
			body := w.slow(t, 4)
			if c.started == nil {
				w.Portico.Stop(t)
				w.Portico.Write(t, w.text(t))
				w.Portico.Restart(t)
			}
			arrived, _ := w.gate(t)
			w.begin(t, alice, body)
			<-arrived
			w.Portico.Kill(t)
			w.Portico.Write(t, w.text(t, carol, bob))
			w.Portico.Restart(t)
			eventuallySettled(t, "end of the batch", func() bool {
				jobs := string(w.Portico.Admin(t, harness.Request{Path: "/admin/jobs?kind=batch"}).Want(t, 200).Body)
				return strings.Contains(jobs, `"Done"`)
			})
			if n := len(arrived); n > 0 {
				t.Errorf("%d requests were sent for a caller who is none any more", n)
			}
		})
	}
}

// A configuration without a token is refused for another reason: the log says that the
// token stays valid.
func TestARefusedConfigurationReportsRemovedTokens(t *testing.T) {
	t.Parallel()
	const gauge = "portico_config_removed_credentials"
	w := newWorld(t, options{})
	if n := w.Portico.Metric(t, gauge); n != 0 {
		t.Fatal(n)
	}
	without := w.text(t, carol, bob)
	for i, refused := range []string{
		without + "\nbatch: {immediate: none}\n",                      // a bad value
		without + "\ninclude: [absent.yaml]\n",                        // a file that is missing
		without + "\n  - : [\n",                                       // no YAML
		strings.Replace(without, "region: westus", "region: mars", 1), // what does not fit together
	} {
		w.reload(t, refused)
		if w.Portico.Metric(t, "portico_config_last_reload_success") != 0 {
			t.Fatalf("%d was taken", i)
		}
		if n := w.Portico.Metric(t, gauge); n != 1 {
			t.Errorf("%d: %v removed credentials", i, n)
		}
		w.as(t, alice, http.MethodGet, w.SubscriptionPath()+"?api-version=2020-01-01", "").Want(t, 200)
		w.reload(t, w.text(t, alice, carol, bob)+"\nbatch: {immediate: none}\n")
		if n := w.Portico.Metric(t, gauge); n != 0 {
			t.Errorf("%d: %v removed credentials where none was", i, n)
		}
	}
	lines := slices.DeleteFunc(strings.Split(w.Portico.Log(), "\n"), func(line string) bool {
		return !strings.Contains(line, `"removedCredentials":1`)
	})
	if len(lines) != 4 {
		t.Errorf("%d lines tell of it", len(lines))
	}
	w.reload(t, without)
	eventuallySettled(t, "end of it", func() bool { return w.Portico.Metric(t, gauge) == 0 })
	w.as(t, alice, http.MethodGet, w.SubscriptionPath()+"?api-version=2020-01-01", "").Want(t, 401)
}

// The file with the tokens goes, cannot be read, or is no file any more: all its tokens stay
// valid, and that is a critical problem, however the gateway noticed.
func TestAnUnreadableConfigurationReportsItsTokens(t *testing.T) {
	t.Parallel()
	triggers := map[string]func(w world){
		"SIGHUP": func(w world) { w.Portico.SendHangup(t) },
		"the admin listener": func(w world) {
			w.Portico.Admin(t, harness.Request{Method: http.MethodPost, Path: "/admin/reload"}).Want(t, 400)
		},
		"files have changed": func(world) {}, // it notices by itself
	}
	for trigger, reload := range triggers {
		t.Run(trigger, func(t *testing.T) {
			t.Parallel()
			server := "  watchInterval: 0s\n"
			if trigger == "files have changed" {
				server = "  watchInterval: 100ms\n"
			}
			w := newWorld(t, options{Server: server})
			file, text := w.Portico.ConfigFile, w.text(t, alice, carol, bob)
			secrets := filepath.Join(filepath.Dir(file), "tokens.yaml")
			for name, spoil := range map[string]func(){
				"gone":     func() { harness.OK(t, os.Remove(file)) },
				"a folder": func() { harness.OK(t, errors.Join(os.Remove(file), os.Mkdir(file, 0o700))) },
				"empty":    func() { harness.OK(t, os.WriteFile(file, nil, 0o600)) },
				"in a file that is gone": func() {
					before, tokens, _ := strings.Cut(text, "  tokens:\n")
					_, after, _ := strings.Cut(tokens, "\n  owners:")
					w.Portico.Write(t, "include: ["+secrets+"]\n"+before+"  owners:"+after)
				},
			} {
				spoil()
				reload(w)
				eventuallySettled(t, name+" is a problem", func() bool {
					status := string(w.Portico.Admin(t, harness.Request{Path: "/admin/status"}).Want(t, 200).Body)
					return strings.Contains(status, `"critical","code":"removedCredentials"`) && strings.Contains(w.Portico.Log(), `"why":"`+trigger)
				})
				w.as(t, alice, http.MethodGet, w.SubscriptionPath()+"?api-version=2020-01-01", "").Want(t, 200)
				harness.OK(t, os.RemoveAll(file))
				w.Portico.Write(t, text)
				w.Portico.SendHangup(t)
				eventuallySettled(t, "end of it", func() bool { return w.Portico.Metric(t, "portico_config_removed_credentials") == 0 })
			}
		})
	}
}

// A token expires during a batch that it started, or its issuer is trusted no more: no
// further request of the batch is sent.
func TestAnExpiredTokenEndsItsBatches(t *testing.T) {
	t.Parallel()
	issuer := harness.NewIssuer(t)
	w := newWorld(t, options{Settings: "batch: {immediate: 1, atOnce: 1}\n", Auth: issuer.Auth(", clockSkew: 0s", "")})
	body := w.slow(t, 4)
	short := harness.Token{Raw: issuer.Token(t, "exp", time.Now().Add(10*time.Second).Unix())}
	long := harness.Token{Raw: issuer.Token(t)}
	arrived, open := w.gate(t)
	ends := w.begin(t, short, body)
	<-arrived
	eventuallySettled(t, "end of the token", func() bool {
		return w.as(t, short, http.MethodGet, w.SubscriptionPath()+"?api-version=2020-01-01", "").Status == http.StatusUnauthorized
	})
	w.as(t, short, http.MethodGet, ends, "").WantError(t, 401, "ExpiredAuthenticationToken")
	close(open)
	all := w.end(t, long, ends)
	if len(all) != 4 || all[0].HTTPStatusCode != 200 {
		t.Fatalf("%d answers, the first %d", len(all), all[0].HTTPStatusCode)
	}
	for _, r := range all[1:] {
		if r.HTTPStatusCode != 401 {
			t.Errorf("%d %s", r.HTTPStatusCode, r.Content)
		}
	}
	if n := len(arrived); n > 0 {
		t.Errorf("%d requests were sent for a token that had expired", n)
	}
}
