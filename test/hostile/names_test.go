package hostile

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode"

	"portico/test/harness"
)

// sent makes a call whose path is sent byte by byte: net/url would clean it. It returns
// the status and the body.
func (w world) sent(t *testing.T, method, rawPath, body string) (int, string) {
	t.Helper()
	base, err := url.Parse(w.Portico.URL)
	harness.OK(t, err)
	call := &http.Request{
		Method: method, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
		URL:    &url.URL{Scheme: base.Scheme, Host: base.Host, Opaque: rawPath, RawQuery: api[1:]},
		Header: http.Header{"Authorization": {"Bearer " + alice.Raw}, "Content-Type": {"application/json"}},
	}
	answer, err := w.Portico.Client.Do(call.WithContext(t.Context()))
	harness.OK(t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	harness.OK(t, err)
	return answer.StatusCode, string(text)
}

// readings are the resources that common servers read from a path: they cut path
// parameters off before they decode, decode twice, take a plus sign for a space, trim
// segments, drop invisible characters, resolve dots, end at a NUL, compose letters, or
// fold them by other tables than Portico.
func readings(target string) (all []string) {
	raw, _, _ := strings.Cut(target, "?")
	segments := strings.Split(raw, "/")
	cut := slices.Clone(segments)
	for i := range cut {
		cut[i], _, _ = strings.Cut(cut[i], ";")
	}
	for _, form := range []string{raw, strings.Join(cut, "/"), strings.ReplaceAll(raw, "+", "%20")} {
		once, err := url.PathUnescape(form)
		if err != nil {
			continue
		}
		all = append(all, once)
		if twice, err := url.PathUnescape(once); err == nil {
			all = append(all, twice)
		}
	}
	for _, read := range slices.Clone(all) {
		slashed := path.Clean(strings.ReplaceAll(read, `\`, "/"))
		all = append(all, slashed)
		for _, end := range []string{"\x00", "?", "#", ":"} {
			before, _, _ := strings.Cut(read, end)
			all = append(all, before)
		}
		parts := strings.Split(slashed, "/")
		for i := range parts {
			parts[i] = strings.TrimFunc(strings.TrimRight(parts[i], ". "), unicode.IsSpace)
		}
		trimmed := strings.Join(parts, "/")
		shown := strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) || unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) {
				return -1
			}
			return r
		}, read)
		all = append(all, trimmed, shown, strings.ReplaceAll(read, "e\u0301", "\u00e9"))
	}
	for i := range all {
		folded := strings.Map(func(r rune) rune {
			switch r {
			case 'ı', 'İ':
				return 'i'
			}
			return unicode.ToLower(unicode.ToUpper(r))
		}, all[i])
		all[i] = folded
	}
	return all
}

// neverWritten checks that no write reached the provider which some server could read
// as one of a locked resource.
func (w world) neverWritten(t *testing.T, locked, request string) {
	t.Helper()
	for _, x := range w.provider.Calls() {
		for _, read := range readings(x.Target) {
			if x.Method != http.MethodGet && strings.HasPrefix(read+"/", strings.ToLower(locked)+"/") {
				t.Fatalf("%s: the provider got %s %s, which servers take for %s", request, x.Method, x.Target, read)
			}
		}
	}
}

// hidden are spellings of "disk-é" that some server takes for it.
var hidden = []string{
	"disk-%C3%A9;x", "disk-%C3%A9;", "disk-%C3%A9%3Bx", "disk-%C3%A9%3bx", "disk-%C3%A9;a=b,c", "disk-\u00e9;x",
	"disk-%C3%A9.", "disk-%C3%A9..", "disk-%C3%A9%2E", "disk-%C3%A9%20", "%20disk-%C3%A9", "disk-%C3%A9+", "+disk-%C3%A9", "disk-%C3%A9.%20",
	"disk-%C3%A9%E2%80%8B", "disk-%C3%A9%EF%BB%BF", "di%C2%ADsk-%C3%A9", "disk-%C3%A9%E2%80%AE", "disk-%C3%A9%D8%9C", "disk-%C3%A9%EF%B8%8F", "disk-%C3%A9%E3%85%A4", "disk-%C3%A9%CD%8F",
	"disk-%C3%A9%C2%A0", "disk-%C3%A9%E3%80%80", "disk-%C3%A9%E2%80%A8", "disk-%C3%A9%E2%80%A9", "disk-%C3%A9%C2%85",
	"disk-%C3%A9%00", "disk-%C3%A9%00x", "disk-%C3%A9%0A", "disk-%C3%A9%09", "disk-%C3%A9%3Fx", "disk-%C3%A9#x", "disk-%C3%A9:", "disk-%C3%A9%3A%3A$DATA",
	"disk-%C3%A9%2F", "disk-%C3%A9%2F.", "disk-%C3%A9//", "./disk-%C3%A9", "%2e/disk-%C3%A9", "x/../disk-%C3%A9", "x%2F..%2Fdisk-%C3%A9", "x%5C..%5Cdisk-%C3%A9", `x\..\disk-%C3%A9`,
	"disk-%25C3%25A9", "disk-%C3%A9%253Bx", "disk-%C3%A9%2500", "disk-e%CC%81", "DISK-E%CC%81", "dis%E2%84%AA-%C3%A9", "di%C5%BFk-%C3%A9", "d%C4%B1sk-%C3%A9", "d%C4%B0sk-%C3%A9",
}

// No spelling that a provider takes for a locked resource evades the lock: what is
// locked is refused, invalid names are refused, and anything else reaches the provider
// in an unambiguous form.
func TestNoSpellingBypassesALock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.group(t, "rg")
	locked := w.thing("rg", "disk-é")
	w.put(t, w.thing("rg", "disk-%C3%A9"))
	w.as(t, alice, http.MethodPut, w.thing("rg", "disk-%C3%A9")+lockPlace, `{"properties":{"level":"ReadOnly"}}`).Want(t, 201)
	for _, name := range append([]string{"disk-%C3%A9", "DISK-%C3%89", "%64isk-%C3%A9"}, hidden...) {
		for _, below := range []string{"", "/parts/p", "/notes/n", "/start", "/providers/Evil.Test/marks/m"} {
			for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodPost} {
				if (method == http.MethodPost) != (below == "/start") {
					continue
				}
				w.provider.Forget()
				status, body := w.sent(t, method, w.thing("rg", name)+below, located("westus"))
				if status >= 500 {
					t.Errorf("%s %s%s: %d %s", method, name, below, status, body)
				}
				w.neverWritten(t, locked, fmt.Sprintf("%s %s%s", method, name, below))
			}
		}
	}
	if !w.provider.Holds("", locked) {
		t.Error("the locked resource has gone")
	}
}

// The same holds for the name of a group.
func TestNoSpellingBypassesALockOnAGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.group(t, "disk-%C3%A9")
	w.put(t, w.thing("disk-%C3%A9", "one"))
	w.as(t, alice, http.MethodPut, w.GroupPath("disk-%C3%A9")+lockPlace, `{"properties":{"level":"ReadOnly"}}`).Want(t, 201)
	w.provider.Forget()
	for _, name := range append([]string{"disk-%C3%A9", "DISK-%C3%89"}, hidden...) {
		for _, path := range []string{w.GroupPath(name), w.thing(name, "one"), w.thing(name, "two")} {
			for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete} {
				if status, body := w.sent(t, method, path, located("westus")); status < 400 || status >= 500 {
					t.Errorf("%s %s: %d %s", method, path, status, body)
				}
			}
		}
	}
	w.wantNothingSent(t)
}

// However a client writes a name, its provider gets it in one encoding.
func TestOneEncodingReachesTheProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.group(t, "rg")
	for want, spellings := range map[string][]string{
		"a%3Bb":                  {"a;b", "a%3Bb", "a%3bb", "%61;b"},
		"a%2Bb":                  {"a+b", "a%2Bb", "a%2bb"},
		"a%20b":                  {"a%20b", "%61%20b"},
		"a%22%7C%7B%7D%5E%60%5B": {`a"|{}^` + "`[", "a%22%7c%7b%7d%5e%60%5b"},
		"a%23b":                  {"a%23b"},
		"a-._~z":                 {"a-._~z", "a%2d%2E%5F%7Ez"},
		"a!$'()*,=@z":            {"a!$'()*,=@z", "a%21%24%27%28%29%2A%2C%3D%40z"},
		"caf%C3%A9":              {"caf\u00e9", "caf%c3%a9", "%63af%C3%A9"},
		"%E6%97%A5":              {"\u65e5", "%e6%97%a5"},
	} {
		for _, spelling := range spellings {
			for _, below := range []string{"", "/notes/" + spelling} {
				target := w.thing("rg", spelling) + below
				w.provider.Forget()
				if status, body := w.sent(t, http.MethodPut, target, located("westus")); status != 200 && status != 201 {
					t.Errorf("PUT %s: %d %s", target, status, body)
					continue
				}
				path := strings.ReplaceAll(target, spelling, want)
				seen := w.provider.Calls()
				if len(seen) != 1 || seen[0].Target != path+api {
					t.Errorf("PUT %s reached the provider as %+v, want %s", target, seen, path)
				}
			}
		}
	}
	text := w.as(t, alice, http.MethodGet, w.GroupPath("rg")+"/resources"+api, "").Want(t, 200).Body
	if n := strings.Count(string(text), `"name"`); n != 9 {
		t.Errorf("the index holds %d resources: %s", n, text)
	}
}

// Ambiguous names are refused, with ARM's codes.
func TestNamesThatServersReadInSeveralWays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.group(t, "rg")
	w.put(t, w.thing("rg", "one"))
	w.provider.Forget()
	for _, name := range []string{
		"a.", "...", "a..", "%20a", "a%20", "a%C2%A0b", "a%E2%80%8Bb", "a%D8%9C", "%EF%BB%BFa", "a%E2%80%AEb", "a%E2%80%A8b", "a%E2%80%A9", "a%E3%80%80b",
		"e%CC%81", "%E2%84%AA", "%C5%BF", "%C4%B1", "%C4%B0", "a%EF%B8%8F", "a%EE%80%80", "%E3%85%A4",
	} {
		for code, path := range map[string]string{"InvalidResourceName": w.thing("rg", name), "InvalidResourceGroup": w.GroupPath(name)} {
			for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
				w.as(t, alice, method, path+api, located("westus")).WantError(t, 400, code)
			}
		}
		w.as(t, alice, http.MethodPut, w.thing("rg", "one")+"/notes/"+name+api, `{}`).WantError(t, 400, "InvalidResourceName")
		w.as(t, alice, http.MethodPost, w.SubscriptionPath()+"/providers/Evil.Test/locations/westus/things/"+name+api, `{}`).WantError(t, 400, "InvalidResourceName")
		w.as(t, alice, http.MethodPut, w.SubscriptionPath()+"/providers/Microsoft.Authorization/locks/"+name+api, `{"properties":{"level":"ReadOnly"}}`).WantError(t, 400, "InvalidResourceName")
	}
	w.wantNothingSent(t)
}

// The rules for names in paths apply to names in the bodies that Portico reads.
func TestNamesInBodies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.group(t, "rg")
	w.group(t, "to")
	w.group(t, "disk-%C3%A9")
	w.put(t, w.thing("rg", "disk-%C3%A9"))
	w.put(t, w.thing("rg", "free"))
	w.as(t, alice, http.MethodPut, w.thing("rg", "disk-%C3%A9")+lockPlace, `{"properties":{"level":"ReadOnly"}}`).Want(t, 201)
	w.provider.Forget()
	move := w.GroupPath("rg") + "/moveResources?api-version=2021-04-01"
	var spellings []string
	for _, name := range hidden {
		decoded, err := url.PathUnescape(name)
		harness.OK(t, err)
		if spellings = append(spellings, name); !strings.Contains(decoded, "%") {
			spellings = append(spellings, decoded)
		}
	}
	for _, spelling := range spellings {
		body := fmt.Sprintf(`{"targetResourceGroup":%s,"resources":[%s]}`, quoted(w.GroupPath("to")), quoted(w.thing("rg", spelling)))
		if got := w.as(t, alice, http.MethodPost, move, body); got.Status != 400 && got.Status != 404 && got.Status != 409 {
			t.Fatalf("move of %q: %d %s", spelling, got.Status, got.Body)
		}
		if strings.HasSuffix(spelling, "/") {
			continue // a group's ID may end like this
		}
		body = fmt.Sprintf(`{"targetResourceGroup":%s,"resources":[%s]}`, quoted(w.GroupPath(spelling)), quoted(w.thing("rg", "free")))
		if got := w.as(t, alice, http.MethodPost, move, body); got.Status != 400 {
			t.Fatalf("move to %q: %d %s", spelling, got.Status, got.Body)
		}
	}
	for _, spelling := range spellings {
		body := fmt.Sprintf(`{"requests":[{"httpMethod":"PUT","url":%s,"content":%s}]}`, quoted(w.thing("rg", spelling)+api), located("westus"))
		w.as(t, alice, http.MethodPost, "/batch?api-version=2021-04-01", body).Want(t, 200, 400)
		w.neverWritten(t, w.thing("rg", "disk-é"), "in a body: "+spelling)
		w.provider.Forget()
	}
}

func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r < ' ' || r == '"' || r == '\\' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
