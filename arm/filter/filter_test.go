package filter

import (
	"slices"
	"strings"
	"testing"
)

type item struct {
	values map[Field]string
	tags   map[string]string
}

func (i item) Value(f Field) string    { return i.values[f] }
func (i item) Tags() map[string]string { return i.tags }

var machine = item{
	values: map[Field]string{
		Location: "westus", ResourceType: "Contoso.Compute/virtualMachines", Name: "Web-01", ResourceGroup: "Shop",
		Identity: "SystemAssigned", IdentityPrincipalID: "abc", PlanPublisher: "Fabrikam",
	},
	tags: map[string]string{"Env": "Prod", "owner": "it's me"},
}

func TestMatch(t *testing.T) {
	for filter, want := range map[string]bool{
		"": true, "  ": true,
		"resourceType eq 'contoso.compute/VIRTUALMACHINES'":                      true,
		"resourceType eq 'Contoso.Compute/disks'":                                false,
		"RESOURCETYPE EQ 'contoso.compute/virtualmachines'":                      true,
		"resourceType ne 'Contoso.Compute/disks'":                                true,
		"location eq 'West US'":                                                  true,
		"location ne 'West US'":                                                  false,
		"name eq 'web-01' and resourceGroup eq 'SHOP'":                           true,
		"name eq 'web-02' or resourceGroup eq 'shop'":                            true,
		"name eq 'web-02' or resourceGroup eq 'shop' and location eq 'eastus'":   false,
		"(name eq 'web-02' or resourceGroup eq 'shop') and location eq 'westus'": true,
		"substringof('EB-', name)":                                               true,
		"substringof('xx', resourceGroup)":                                       false,
		"startswith(name, 'web')":                                                true,
		"not name eq 'x'":                                                        true,
		"not (name eq 'web-01')":                                                 false,
		"tagName eq 'env'":                                                       true,
		"tagName eq 'env' and tagValue eq 'Prod'":                                true,
		"tagName eq 'env' and tagValue eq 'prod'":                                false,
		"tagName eq 'env' and tagValue eq 'it''s me'":                            false,
		"tagValue eq 'it''s me' and tagName eq 'OWNER'":                          true,
		"(tagName eq 'env' and tagValue eq 'Prod')":                              true,
		"not (tagName eq 'env' and tagValue eq 'Prod')":                          false,
		"not (tagName eq 'env' and tagValue eq 'prod')":                          true,
		"(tagName eq 'env' and tagValue eq 'Prod') and tagName eq 'owner'":       true,
		"(tagName eq 'env' and tagValue eq 'it''s me') and tagName eq 'owner'":   false,
		"tagName eq 'owner' and (tagName eq 'env' and tagValue eq 'Prod')":       true,
		"(tagName eq 'env') and tagValue eq 'Prod'":                              true,
		"startswith(tagName, 'OW')":                                              true,
		"startswith(tagName,'ow') and tagValue eq 'Prod'":                        false,
		"tagName ne 'env'":                                                       false,
		"tagName ne 'other'":                                                     true,
		"tagName eq 'env' and tagName eq 'owner'":                                true,
		"identity eq 'systemassigned'":                                           true,
		"identity/principalId eq 'ABC'":                                          true,
		"plan/publisher eq 'fabrikam'":                                           true,
		"plan/product eq ''":                                                     true,
	} {
		f, err := Parse(filter)
		if err != nil {
			t.Errorf("%s: %v", filter, err)
			continue
		}
		if got := f.Match(machine); got != want {
			t.Errorf("%s: %v", filter, got)
		}
	}
}

func TestFaultsSayWhere(t *testing.T) {
	for filter, want := range map[string]string{
		"name":                    "the end at position 4 stands where eq or ne should",
		"name eq":                 "the end at position 7 stands where a quoted text should",
		"name eq web":             "web at position 8 stands where a quoted text should",
		"name eq 'web":            "the text that begins at position 8 has no closing quote",
		"size eq 'x'":             "this list has no field 'size'",
		"name gt 'x'":             "gt at position 5 stands where eq or ne should",
		"(name eq 'x'":            "the end at position 12 stands where a closing parenthesis should",
		"name eq 'x' name eq 'y'": "name at position 12 stands where and, or or the end should",
		"name eq 'x' and":         "the end at position 15 stands where a condition should",
		"tagValue eq 'x'":         "tagValue stands beside tagName only",
		"(tagName eq 'a' and tagValue eq 'x') and tagValue eq 'y'": "tagValue stands beside tagName only",
		"not tagValue eq 'x'":                "tagValue stands beside tagName only",
		"tagName ne 'a' and tagValue eq 'x'": "tagValue stands beside tagName only",
		"substringof(name, 'x')":             "name at position 12 stands where a quoted text should",
		"name eq 'x' & 1":                    "the character at position 12 has no meaning there",
		strings.Repeat("not ", 50):           "it is nested too deep",
		strings.Repeat("(", 50):              "it is nested too deep",
		strings.Repeat(" x", 10000):          "it is longer than 8192 bytes",
	} {
		if _, err := Parse(filter); err == nil || err.Error() != want {
			t.Errorf("%.40s: %v", filter, err)
		}
	}
	if _, err := Parse("name eq 'x'", TagName, TagValue); err == nil {
		t.Error("a field that the list does not have is accepted")
	}
}

func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		filter string
		field  Field
		want   string
		ok     bool
	}{
		{"resourceType eq 'A.B/C' and name eq 'x'", ResourceType, "a.b/c", true},
		{"resourceType eq 'A.B/C' and name eq 'x'", Name, "x", true},
		{"resourceType eq 'a' or name eq 'x'", Name, "", false},
		{"not name eq 'x'", Name, "", false},
		{"name ne 'x'", Name, "", false},
		{"substringof('x', name)", Name, "", false},
		{"(name eq 'X') and (location eq 'West US' or location eq 'eastus')", Name, "x", true},
	} {
		f, err := Parse(c.filter)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := f.Needs(c.field); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %q %v", c.filter, got, ok)
		}
	}
	for text, want := range map[string]string{
		"startswith(name, 'Web-') and location eq 'westus'":   "web-",
		"location eq 'westus' and (startswith(name, 'Web-'))": "web-",
		"startswith(name, 'web') or location eq 'westus'":     "",
		"not startswith(name, 'web')":                         "",
		"name eq 'web'":                                       "",
		"startswith(tagName, 'web')":                          "",
	} {
		f, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := f.NeedsPrefix(Name); got != want && ok || ok != (want != "") {
			t.Errorf("%s: prefix %q %v", text, got, ok)
		}
	}
	if f, _ := Parse("name eq 'x' or tagName eq 'y'"); !f.AsksForTags() {
		t.Error("the filter asks for tags")
	}
}

func TestAlternatives(t *testing.T) {
	for _, c := range []struct {
		filter string
		field  Field
		want   []string // what each alternative needs
	}{
		{"", Name, []string{""}},
		{"name eq 'a'", Name, []string{"a"}},
		{"name eq 'a' or name eq 'b' or (name eq 'c' or name eq 'd')", Name, []string{"a", "b", "c", "d"}},
		{"name eq 'a' or location eq 'b'", Name, []string{"a", ""}},
		{"location eq 'x' and (name eq 'a' or name eq 'b')", Name, []string{"a", "b"}},
		{"location eq 'x' and (name eq 'a' or name eq 'b')", Location, []string{"x", "x"}},
		{"(name eq 'a' or name eq 'b') and (location eq 'x' or location eq 'y')", Name, []string{"a", "b"}},
		{"not (name eq 'a' or name eq 'b')", Name, []string{""}},
		{strings.Repeat("name eq 'a' or ", mostAlternatives) + "name eq 'a'", Name, []string{""}},
	} {
		f, err := Parse(c.filter)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range f.Alternatives() {
			text, needed := one.Needs(c.field)
			if !needed {
				text = ""
			}
			got = append(got, text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.filter, got, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"name eq 'x' and (tagName eq 'y' or not startswith(name,'z'))", "substringof('', location)", "tagName eq 'a' and tagValue eq ''''", "((", "'"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		filter, err := Parse(s)
		if err != nil {
			return
		}
		matches := false
		for _, one := range filter.Alternatives() {
			matches = matches || one.Match(machine)
		}
		if matches != filter.Match(machine) {
			t.Fatalf("%q: its alternatives say %v", s, matches)
		}
		// What every match needs, a match has.
		for field := Location; field < TagName; field++ {
			if want, ok := filter.Needs(field); ok && filter.Match(machine) && foldFor(field, machine.Value(field)) != want {
				t.Fatalf("%q matches without %q", s, want)
			}
			if want, ok := filter.NeedsPrefix(field); ok && filter.Match(machine) && !strings.HasPrefix(foldFor(field, machine.Value(field)), want) {
				t.Fatalf("%q matches without the prefix %q", s, want)
			}
		}
	})
}

func TestNeedsTag(t *testing.T) {
	for text, want := range map[string]string{
		"name eq 'x' and tagName eq 'Env' and tagValue eq 'V'":  "env=V",
		"name eq 'x' and (tagName eq 'Env' and tagValue eq '')": "env=",
		"tagName eq 'Env' and startswith(tagValue, 'V')":        "env",
		"tagName eq 'Env'": "env",
		"(tagName eq 'Env') and (tagName eq 'Owner' and tagValue eq 'me')":              "owner=me",
		"(tagName eq 'A' and tagValue eq '1') and (tagName eq 'B' and tagValue eq '2')": "a=1",
		"startswith(tagName, 'e')":                              "none",
		"tagName ne 'Env'":                                      "none",
		"not (tagName eq 'Env' and tagValue eq 'V')":            "none",
		"(tagName eq 'Env' and tagValue eq 'V') or name eq 'x'": "none",
		"name eq 'x'": "none",
		"":            "none",
	} {
		f, err := Parse(text)
		if err != nil {
			t.Fatal(text, err)
		}
		got := "none"
		if name, value, ok := f.NeedsTag(); ok {
			if got = name; value != nil {
				got += "=" + *value
			}
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestTerms(t *testing.T) {
	got, err := Terms(" a eq 'it''s' and b/c GE 2020-01-01T00:00:00+01:00 AND d eq '' ")
	want := []Term{{"a", "eq", "it's"}, {"b/c", "GE", "2020-01-01T00:00:00+01:00"}, {"d", "eq", ""}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if none, err := Terms(" "); none != nil || err != nil {
		t.Errorf("%+v, %v", none, err)
	}
	for _, bad := range []string{"a", "a eq", "a eq 'b", "a eq 'b' and", "a eq 'b' or c eq 'd'", "(a eq 'b')", "a eq b,c", "a eq 'b' 'c'", "a = 'b'", strings.Repeat("a eq 'b' and ", 1000) + "a eq 'b'"} {
		if terms, err := Terms(bad); err == nil {
			t.Errorf("%.40s: %+v", bad, terms)
		}
	}
}
