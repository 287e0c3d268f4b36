package arm

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
)

func TestFold(t *testing.T) {
	for a, b := range map[string]string{
		"Contoso.Compute": "CONTOSO.COMPUTE", "É": "é", "ΣΑΣ": "σας", "日本": "日本", "": "", "Straße": "STRAßE",
	} {
		if !EqualFold(a, b) || Fold(a) != Fold(b) {
			t.Errorf("%q and %q are one name", a, b)
		}
	}
	for a, b := range map[string]string{"K": "\u212a", "k": "\u212a", "s": "ſ", "i": "ı", "a": "ab", "\xff": "\ufffd", "é": "e"} {
		if EqualFold(a, b) || Fold(a) == Fold(b) {
			t.Errorf("%q and %q are two names", a, b)
		}
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if s := string(r); Fold(Fold(s)) != Fold(s) {
			t.Fatalf("the fold of %q is not folded", s)
		}
	}
	if n := testing.AllocsPerRun(10, func() { Fold("already/folded") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestLocation(t *testing.T) {
	for _, s := range []string{"westus", "West US", " west\tUS ", "WESTUS"} {
		if Location(s) != "westus" {
			t.Errorf("%q is %q", s, Location(s))
		}
	}
	if !ValidLocation("eastus2") || ValidLocation("") || ValidLocation("2east") || ValidLocation("east-us") || ValidLocation(strings.Repeat("a", 64)) {
		t.Error("shape of locations")
	}
}

func TestAPIVersions(t *testing.T) {
	for _, v := range []string{"2024-06-01", "2024-06-01-preview", "2024-06-01-alpha", "2024-06-01-beta", "2024-06-01-rc", "2024-06-01-privatepreview", "2024-06-01-PREVIEW",
		"2024-02-29", "2000-02-29-preview", "2024-04-30", "2024-12-31"} {
		if !ValidAPIVersion(v) {
			t.Errorf("%s is refused", v)
		}
	}
	for _, v := range []string{"", "2024-6-1", "2024-06-10-gamma", "1999", "2024-13-01", "2024-00-10", "2024-01-32", "2024-02-30", "2023-02-29", "1900-02-29", "2024-04-31", "2024-02-30-preview", "2024-06-01-", "2024-06-01preview", "2.0", "2024-06-01 ", "２０２４-06-01"} {
		if ValidAPIVersion(v) {
			t.Errorf("%q is accepted", v)
		}
	}
	got := NewestFirst([]string{"2024-06-01-preview", "2023-01-01", "2024-06-01", "2024-06-01-alpha"})
	if strings.Join(got, " ") != "2024-06-01 2024-06-01-preview 2024-06-01-alpha 2023-01-01" {
		t.Errorf("order %v", got)
	}
}

func TestNames(t *testing.T) {
	for _, s := range []string{"rg", "RG", "a", ".a", "a.b", "(a)", "-", "_", "é", "日本", "...a", strings.Repeat("é", 90), "providers", "x٣"} {
		if !ValidGroupName(s) {
			t.Errorf("group %q is refused", s)
		}
	}
	for _, s := range []string{"", ".", "..", "a.", "a b", "a/b", "a%2F", "a\n", strings.Repeat("a", 91), "a\xff", "½",
		"\u212a", "\u212b", "ſ", "ı", "İ", "\u1112\u1161", "a\u3164", "\u1100\u1160"} {
		if ValidGroupName(s) {
			t.Errorf("group %q is accepted", s)
		}
	}
	for _, s := range []string{"n", "a b", "a#b+c;d", "é", strings.Repeat("é", 260), "providers", "...a", "\uac00", "\ufffd"} {
		if !ValidResourceName(s) {
			t.Errorf("name %q is refused", s)
		}
	}
	for _, s := range []string{"", ".", "..", "a<", "a>", "a%", "a&", "a:", `a\`, "a?", "a/", "a\x00", "a\u0085", "a\x7f", strings.Repeat("é", 261), "\xff",
		"...", "a.", " a", "a ", "a\u00a0b", "a\u200bb", "\u061c", "\ufeffa", "a\u202e", "a\u2028", "a\u2029", "a\u3000", "e\u0301", "\u212a", "\u212b", "ſ", "ı", "İ", "a\ufe0f", "\u3164", "\ue000"} {
		if ValidResourceName(s) {
			t.Errorf("name %q is accepted", s)
		}
	}
	for s, want := range map[string]bool{"Contoso.Compute": true, "contoso": true, "a.b.c": true, "": false, ".a": false, "a.": false, "a..b": false, "a-b": false, "é": false} {
		if ValidNamespace(s) != want {
			t.Errorf("namespace %q: %v", s, !want)
		}
	}
	for s, want := range map[string]bool{"virtualMachines": true, "a1": true, "": false, "a.b": false, "a-b": false, "é": false} {
		if ValidTypeName(s) != want {
			t.Errorf("type %q: %v", s, !want)
		}
	}
	if InvalidGroupNameCharacters("a b/c b") != " /" {
		t.Errorf("characters %q", InvalidGroupNameCharacters("a b/c b"))
	}
}

func TestTags(t *testing.T) {
	many := map[string]string{}
	for r := 'a'; len(many) < 51; r++ {
		many[string(r)+"tag"] = ""
	}
	long := strings.Repeat("é", 512)
	for _, c := range []struct {
		tags map[string]string
		code Code
	}{
		{nil, ""}, {map[string]string{"a b": ""}, ""}, {map[string]string{long: long[:512]}, ""},
		{many, TagCountExceeded},
		{map[string]string{"": "x"}, InvalidTagNameLength},
		{map[string]string{long + "e": "x"}, InvalidTagNameLength},
		{map[string]string{"a": long[:514]}, InvalidTagValueLength},
		{map[string]string{"a?": "x"}, InvalidTagNameCharacters},
		{map[string]string{"a/b": "x"}, InvalidTagNameCharacters},
		{map[string]string{"hidden-link:/subscriptions/s": "Resource", "Hidden-related:/a": "empty"}, ""},
		{map[string]string{"hidden-link:/subscriptions?": "x"}, InvalidTagNameCharacters},
		{map[string]string{"a\x01": "x"}, InvalidTagNameCharacters},
		{map[string]string{"A": "x", "a": "y"}, InvalidRequestContent},
	} {
		err := CheckTags(c.tags, 50)
		if (err == nil) != (c.code == "") || err != nil && err.Code != c.code {
			t.Errorf("%d tags: got %v, want %s", len(c.tags), err, c.code)
		}
	}
}

func TestErrorWordings(t *testing.T) {
	for code, f := range faults {
		if f.status < 400 || f.text == "" {
			t.Errorf("%s: %d %q", code, f.status, f.text)
		}
	}
	e := NewError(InvalidResourceLocation, "vm1", "westus", "rg", "eastus").WithTarget("location").WithCause(errors.New("secret"))
	var body struct {
		Error struct{ Code, Message, Target string }
	}
	if err := json.Unmarshal(e.Body(), &body); err != nil || body.Error.Code != "InvalidResourceLocation" || body.Error.Target != "location" ||
		body.Error.Message != "The resource 'vm1' already exists in location 'westus' in resource group 'rg'. A resource with the same name cannot be created in location 'eastus'. Please select a new resource name." {
		t.Errorf("%s", e.Body())
	}
	if strings.Contains(string(e.Body()), "secret") {
		t.Error("the cause reached the body")
	}
	if got := NoProviderFound("", "2020-01-01", "N.S/a/b", []string{"x", "y"}, nil).Message; got != "No registered resource provider found for API version '2020-01-01' for type 'a/b'. The supported api-versions are 'x, y'." {
		t.Error(got)
	}
	if got := NoProviderFound("k", "v", "N.S/a", []string{"x", "y"}, []string{"l", "m"}).Message; got != "No registered resource provider found for location 'k' and API version 'v' for type 'a'. The supported api-versions are 'x, y'. The supported locations are 'l, m'." {
		t.Error(got)
	}
	for state, want := range map[string]string{
		"": "The target subscription 'S' is not registered to use namespace 'N.S'. See https://aka.ms/rps-not-found for how to register subscriptions.",
		"Unregistered": "The registration of the target subscription 'S' is in 'Unregistered' state. It must be registered to use namespace 'N.S'. " +
			"See https://aka.ms/rps-not-found for how to register subscriptions.",
	} {
		if n := TargetNotRegistered("S", "N.S", state); n.Message != want || n.Target != "N.S" || n.Details[0].Message != want || n.Code != MissingSubscriptionRegistration {
			t.Errorf("got %+v, want %s", n, want)
		}
	}
	if n := NotRegistered("N.S", ""); len(n.Details) != 1 || n.Details[0].Target != "N.S" || n.Status != 409 {
		t.Errorf("%+v", n)
	}
}
