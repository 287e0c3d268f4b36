package whatif_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"portico/jobs/deploy/secret"
	"portico/jobs/deploy/whatif"
	"portico/template/document"
	"portico/template/expr"
)

func value(t interface{ Fatal(...any) }, text string) expr.Value {
	if text == "" {
		return expr.Value{}
	}
	d, faults := document.Read([]byte(text), document.Strict, "Test")
	if len(faults) > 0 {
		t.Fatal(text, faults[0])
	}
	return d.Root.Value
}

func digest(secret []byte) string {
	h := hmac.New(sha256.New, []byte("key"))
	h.Write(secret)
	return hex.EncodeToString(h.Sum(nil))
}

func compare(planned, stands expr.Value, last *whatif.Record) whatif.Change {
	p := whatif.Planned{ID: "/subscriptions/s/resourceGroups/g/providers/A.B/c/d", Type: "A.B/c", Name: "d", APIVersion: "2024-01-01", Body: planned}
	return whatif.Compare(&p, stands, last, digest)
}

// lines are the leaves of a delta, one per line.
func lines(delta []whatif.PropertyChange) (all []string) {
	for _, c := range delta {
		if c.Children == nil {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s>%s", c.Type, c.Path, string(c.Before), string(c.After))))
		}
		for _, line := range lines(c.Children) {
			kind, rest, _ := strings.Cut(line, " ")
			all = append(all, kind+" "+c.Path+"/"+rest)
		}
	}
	return all
}

func TestChangesOfProperties(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, planned, stands, sent, answered string
		want                                  []string
	}{
		{name: "nothing sent before: what the template does not name",
			planned: `{"properties": {"a": 1}}`, stands: `{"id": "x", "etag": "1", "properties": {"a": 1.0, "provisioningState": "Succeeded"}}`},
		{name: "nothing sent before: casing of locations and ids, null as absent",
			planned: `{"location": "West US", "properties": {"of": "/subscriptions/A/x", "none": null}}`,
			stands:  `{"location": "westus", "properties": {"of": "/subscriptions/a/X"}}`},
		{name: "nothing sent before: casing of other texts", planned: `{"kind": "A"}`, stands: `{"kind": "a"}`, want: []string{`Modify kind "a">"A"`}},
		{name: "nothing sent before: the order of arrays",
			planned: `{"properties": {"l": [{"a": 1}, {"a": 2}, [1, 2], [3, 4]]}}`, stands: `{"properties": {"l": [[4, 3], [2, 1], {"a": 2, "b": 0}, {"a": 1}]}}`},
		{name: "nothing sent before: elements come, go and change",
			planned: `{"properties": {"l": [{"name": "x", "v": 1}, {"name": "z"}], "m": ["10.0.0.0/8"]}}`,
			stands:  `{"properties": {"l": [{"name": "y"}, {"name": "X", "v": 2}], "m": ["10.0.0.0/16"]}}`,
			want: []string{`Modify properties.l/0/name "X">"x"`, `Modify properties.l/0/v 2>1`, `Create properties.l/1 >{"name":"z"}`,
				`Delete properties.l/0 {"name":"y"}>`, `Modify properties.m/0 "10.0.0.0/16">"10.0.0.0/8"`}},
		{name: "nothing sent before: tags are the client's own",
			planned: `{"tags": {"a": "1", "b.c": "2"}}`, stands: `{"tags": {"a": "1", "z": "9"}}`, want: []string{`Create tags['b.c'] >"2"`, `Delete tags.z "9">`}},
		{name: "an object that is new is one change", planned: `{"sku": {"name": "S1", "tier": "S"}}`, stands: `{}`, want: []string{`Create sku >{"name":"S1","tier":"S"}`}},
		{name: "an object instead of a text", planned: `{"properties": {"a": {"b": 1}}}`, stands: `{"properties": {"a": "b"}}`, want: []string{`Modify properties.a "b">{"b":1}`}},
		{name: "sent and answered as before, though casing, order, defaults and what is hidden differ",
			planned: `{"kind": "A", "properties": {"l": [1, 2], "secret": "s"}}`,
			stands:  `{"kind": "a", "properties": {"l": [0, 2, 1], "d": 4}}`,
			sent:    `{"kind": "A", "properties": {"l": [1, 2], "secret": "s"}}`, answered: `{"kind": "a", "properties": {"l": [0, 2, 1], "d": 4}}`},
		{name: "the template changes",
			planned: `{"kind": "B", "properties": {"hidden": "t", "same": "now", "l": [{"v": 1}, {"v": 3}]}}`,
			stands:  `{"kind": "a", "properties": {"same": "now", "l": [{"v": 2, "d": 0}, {"v": 1, "d": 0}]}}`,
			sent:    `{"kind": "A", "properties": {"hidden": "s", "same": "was", "l": [{"v": 1}, {"v": 2}]}}`, answered: `{"kind": "a", "properties": {"same": "was", "l": [{"v": 2, "d": 0}, {"v": 1, "d": 0}]}}`,
			want: []string{`Modify kind "a">"B"`, `Modify properties.hidden "s">"t"`, `Modify properties.l/1/v 2>3`}},
		{name: "the template no longer names what it sent",
			planned: `{"properties": {}}`, stands: `{"properties": {"a": 1, "default": 2}}`,
			sent: `{"properties": {"a": 1, "gone": 3, "hidden": 4}}`, answered: `{"properties": {"a": 1, "gone": 3, "default": 2}}`,
			want: []string{`Delete properties.a 1>`, `Delete properties.hidden 4>`}},
		{name: "others change what stands",
			planned: `{"kind": "A", "tags": {"a": "1"}, "properties": {"n": 1, "back": 5, "l": ["x", "y"]}}`,
			stands:  `{"kind": "b", "tags": {"a": "1", "z": "9"}, "properties": {"n": 2, "back": 5, "state": "Old", "l": ["x", "z"]}}`,
			sent:    `{"kind": "A", "tags": {"a": "1"}, "properties": {"n": 1, "back": 5, "l": ["x", "y"]}}`, answered: `{"kind": "a", "tags": {"a": "1"}, "properties": {"n": 1, "back": 4, "state": "New", "l": ["x", "y"]}}`,
			want: []string{`Modify kind "b">"A"`, `Delete tags.z "9">`, `Modify properties.n 2>1`, `Modify properties.l/1 "z">"y"`}},
		{name: "others have made an element that the template makes",
			planned: `{"properties": {"l": ["x", "y"]}}`, stands: `{"properties": {"l": ["y", "x", "z"]}}`,
			sent: `{"properties": {"l": ["x"]}}`, answered: `{"properties": {"l": ["x"]}}`, want: []string{`Delete properties.l/2 "z">`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var last *whatif.Record
			if c.sent != "" {
				last = &whatif.Record{Sent: value(t, c.sent), Answered: value(t, c.answered)}
			}
			got := compare(value(t, c.planned), value(t, c.stands), last)
			want := whatif.NoChange
			if len(c.want) > 0 {
				want = whatif.Modify
			}
			if got.Type != want || !slices.Equal(lines(got.Delta), c.want) {
				t.Errorf("%s\n%s\nwant\n%s", got.Type, strings.Join(lines(got.Delta), "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestChangesOfResources(t *testing.T) {
	t.Parallel()
	planned, stands := value(t, `{"kind": "b"}`), value(t, `{"id": "i", "kind": "a"}`)
	created, modified := compare(planned, expr.Value{}, nil), compare(planned, stands, nil)
	for _, c := range []struct {
		change whatif.Change
		want   string
	}{
		{created, `{"resourceId":"/subscriptions/s/resourceGroups/g/providers/A.B/c/d","changeType":"Create","after":{"apiVersion":"2024-01-01","id":"/subscriptions/s/resourceGroups/g/providers/A.B/c/d","type":"A.B/c","name":"d","kind":"b"}}`},
		{created.WithoutPayload(), `{"resourceId":"/subscriptions/s/resourceGroups/g/providers/A.B/c/d","changeType":"Create"}`},
		{modified, `{"resourceId":"/subscriptions/s/resourceGroups/g/providers/A.B/c/d","changeType":"Modify","before":{"apiVersion":"2024-01-01","id":"i","kind":"a"},"after":{"apiVersion":"2024-01-01","id":"/subscriptions/s/resourceGroups/g/providers/A.B/c/d","type":"A.B/c","name":"d","kind":"b"},"delta":[{"path":"kind","propertyChangeType":"Modify","before":"a","after":"b"}]}`},
		{modified.WithoutPayload(), `{"resourceId":"/subscriptions/s/resourceGroups/g/providers/A.B/c/d","changeType":"Deploy"}`},
		{whatif.Gone("i", stands, false), `{"resourceId":"i","changeType":"Ignore","before":{"id":"i","kind":"a"}}`},
		{whatif.Gone("i", stands, true).WithoutPayload(), `{"resourceId":"i","changeType":"Delete"}`},
	} {
		if got, err := json.Marshal(c.change); err != nil || string(got) != c.want {
			t.Errorf("%s %v\nwant\n%s", got, err, c.want)
		}
	}
}

// What needs an answer is no change, whatever stands there; all beside it counts.
func TestWhatNeedsAnAnswerIsUnknown(t *testing.T) {
	t.Parallel()
	unknown := expr.PendingOf(expr.Invoke("reference", expr.StringOf("x")))
	body := func(n int64) expr.Value {
		return expr.ObjectOf(expr.Member{Name: "properties", Value: expr.ObjectOf(
			expr.Member{Name: "ip", Value: unknown}, expr.Member{Name: "l", Value: expr.ArrayOf(expr.IntOf(1), unknown)}, expr.Member{Name: "n", Value: expr.IntOf(n)})})
	}
	stands := value(t, `{"properties": {"ip": "10.0.0.1", "l": [7, 1], "n": 1}}`)
	last := &whatif.Record{Sent: value(t, `{"properties": {"ip": "10.0.0.2", "l": [1, 7], "n": 1}}`), Answered: stands}
	for _, record := range []*whatif.Record{nil, last} {
		if got := compare(body(1), stands, record); got.Type != whatif.NoChange || !strings.Contains(string(got.After), `"[reference('x')]"`) {
			t.Errorf("%s %q, after %s", got.Type, lines(got.Delta), got.After)
		}
		if got := lines(compare(body(2), stands, record).Delta); !slices.Equal(got, []string{"Modify properties.n 1>2"}) {
			t.Errorf("%q", got)
		}
	}
}

// Secrets are compared by their digests, and shown nowhere.
func TestSecretsAreComparedAndNotShown(t *testing.T) {
	t.Parallel()
	body := func(secret string) expr.Value {
		return expr.ObjectOf(expr.Member{Name: "properties", Value: expr.ObjectOf(
			expr.Member{Name: "password", Value: expr.StringOf(secret).AsSecure()},
			expr.Member{Name: "all", Value: expr.ObjectOf(expr.Member{Name: "key", Value: expr.StringOf("k-" + secret)}).AsSecure()})})
	}
	kept := secret.Keep(body("first"), digest)
	if strings.Contains(kept.JSON(), "first") {
		t.Fatal(kept.JSON())
	}
	stands := value(t, `{"properties": {"url": "user:first@host", "echo": "second", "all": {"key": "*******"}}}`)
	last := &whatif.Record{Sent: kept, Answered: secret.In(body("first")).Value(stands)}
	if got := compare(body("first"), stands, last); got.Type != whatif.NoChange || strings.Contains(string(got.Before)+string(got.After), "first") {
		t.Errorf("%s %q %s %s", got.Type, lines(got.Delta), got.Before, got.After)
	}
	changed := compare(body("second"), stands, last)
	want := []string{`Modify properties.password "*******">"*******"`, `Modify properties.all "*******">"*******"`}
	if got := lines(changed.Delta); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	all, err := json.Marshal(changed)
	if err != nil || strings.Contains(string(all), "second") || strings.Contains(string(all), digest([]byte(`"first"`))) {
		t.Errorf("%s %v", all, err)
	}
	// Without a record, a secret that stands is no change, nor is it shown beside what is.
	stands = value(t, `{"properties": {"password": "pass", "all": {"key": "k-pass", "url": "x:pass"}}}`)
	if got := compare(body("pass"), stands, nil); got.Type != whatif.NoChange || strings.Contains(string(got.Before), "pass\"") {
		t.Errorf("%s %q %s", got.Type, lines(got.Delta), got.Before)
	}
	if got := lines(compare(body("new"), value(t, `{"properties": {"all": {}}}`), nil).Delta); len(got) != 2 || strings.Contains(strings.Join(got, ""), "new") {
		t.Errorf("%q", got)
	}
}

// Without the digest, which is for the caller who sent the secrets, all guesses of them have the same
// answer: with what stands, hidden by the provider or not, and whatever the template has there now.
func TestGuessesOfSecretsAreUnknown(t *testing.T) {
	t.Parallel()
	member := func(name string, v expr.Value) expr.Member { return expr.Member{Name: name, Value: v} }
	text, object, array := expr.StringOf, expr.ObjectOf, expr.ArrayOf
	forms := map[string]func(guess string) expr.Value{
		"text":     func(guess string) expr.Value { return text(guess).AsSecure() },
		"object":   func(guess string) expr.Value { return object(member("key", text(guess))).AsSecure() },
		"part":     func(guess string) expr.Value { return object(member("key", text(guess).AsSecure())) },
		"elements": func(guess string) expr.Value { return array(text(guess).AsSecure(), text("plain")) },
		"named": func(guess string) expr.Value {
			return array(object(member("name", text("n")), member("v", text(guess).AsSecure())))
		},
	}
	properties := func(v expr.Value) expr.Value {
		return object(member("properties", object(member("of", v), member("size", text("small")))))
	}
	for name, form := range forms {
		sent := properties(form("right"))
		for how, stands := range map[string]expr.Value{"hidden": properties(expr.Value{}), "shown": value(t, properties(form("right")).JSON())} {
			last := &whatif.Record{Sent: secret.Keep(sent, digest), Answered: secret.In(sent).Value(stands)}
			for _, planned := range []func(string) expr.Value{form, func(guess string) expr.Value { return text(guess) }} {
				var answers []string
				for _, guess := range []string{"right", "wrong"} {
					c := whatif.Compare(&whatif.Planned{ID: "/x", Body: properties(planned(guess))}, stands, last, nil)
					c.After, c.Before = nil, nil // what is asked, and what its caller can read
					answer, err := json.Marshal(c)
					if err != nil || strings.Contains(string(answer), "digest") {
						t.Errorf("%s, %s: %s %v", name, how, answer, err)
					}
					answers = append(answers, strings.ReplaceAll(string(answer), guess, "guess"))
				}
				if answers[0] != answers[1] {
					t.Errorf("%s, %s: %s\n%s", name, how, answers[0], answers[1])
				}
			}
		}
	}
}

// A digest is not shown where the template has parts in the place of a secret now.
func TestDigestsAreNotShown(t *testing.T) {
	t.Parallel()
	all := func(v expr.Value) expr.Value { return expr.ObjectOf(expr.Member{Name: "all", Value: v}) }
	key := expr.ObjectOf(expr.Member{Name: "key", Value: expr.StringOf("hidden")})
	last := &whatif.Record{Sent: secret.Keep(all(key.AsSecure()), digest), Answered: expr.ObjectOf()}
	for _, planned := range []expr.Value{all(expr.ObjectOf()), all(expr.ObjectOf(expr.Member{Name: "other", Value: expr.IntOf(1)})), all(expr.ArrayOf()), expr.ObjectOf()} {
		changes, err := json.Marshal(compare(planned, expr.ObjectOf(), last))
		if err != nil || strings.Contains(string(changes), "digest") || strings.Contains(string(changes), digest([]byte(key.JSON()))) || !strings.Contains(string(changes), "Modify") {
			t.Errorf("%s: %s %v", planned.JSON(), changes, err)
		}
	}
}

// A secret that was sent before is not shown where the provider shows it, also when the
// template now has another, or none.
func TestSecretsOfBeforeAreHidden(t *testing.T) {
	t.Parallel()
	digest := func(secret []byte) string { return "digest of " + string(secret) }
	hush := func(text string) expr.Value { return expr.StringOf(text).AsSecure() }
	object := func(name string, v expr.Value) expr.Value { return expr.ObjectOf(expr.Member{Name: name, Value: v}) }
	users := func(names ...expr.Value) expr.Value {
		var all []expr.Value
		for _, n := range names {
			all = append(all, object("key", n))
		}
		return object("properties", object("users", expr.ArrayOf(all...)))
	}
	sent := users(expr.StringOf("open"), hush("hush"))
	stands := users(expr.StringOf("hush"), expr.StringOf("open"))
	last := &whatif.Record{Sent: secret.Keep(sent, digest), Answered: stands}
	for name, planned := range map[string]expr.Value{"another": users(expr.StringOf("open"), hush("new")), "none": users(expr.StringOf("open"), expr.StringOf("plain"))} {
		c := whatif.Compare(&whatif.Planned{ID: "/x", Body: planned}, stands, last, digest)
		text, err := json.Marshal(c)
		if err != nil || strings.Contains(string(text), "hush") || len(c.Delta) == 0 {
			t.Errorf("%s: %s %v", name, text, err)
		}
	}
}
