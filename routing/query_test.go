package routing

import (
	"strings"
	"testing"

	"portico/arm"
)

func TestParseQuery(t *testing.T) {
	for _, c := range []struct{ raw, version string }{
		{"", ""},
		{"api-version=2024-01-01", "2024-01-01"},
		{"API-Version=2024-01-01", "2024-01-01"},
		{"%61pi-version=2024%2D01-01", "2024-01-01"},
		{"&&a=b&api-version=v&", "v"},
		{"a=b+c&api-version=x+y", "x y"},
		{"api-version=a=b", "a=b"},
		{"$filter=a%3Bb%20eq%20'c'&flag", ""},
		{"apiversion=1&api-version2=3", ""},
		{"api-version=v&$expand=a($select=b;$top=1)", "v"},
	} {
		q, fault := parseQuery(c.raw, ownVersions)
		if fault != nil || q.Raw != c.raw || q.APIVersion != c.version {
			t.Errorf("%q: got %q, %v; want %q", c.raw, q.APIVersion, fault, c.version)
		}
	}
	for raw, quoted := range map[string]string{
		"api-version=1&x=2&API%2dVERSION=2":             "1,2",
		"api-version=1&api-version=1":                   "1,1",
		"api-version=&api-version=2":                    ",2",
		"api-version=1&api-version=%zz&api-version=%33": "1,%zz,3",
		"api-version": "",
	} {
		_, fault := parseQuery(raw, []string{"a", "b"})
		if want := "The api-version '" + quoted + "' is invalid. The supported versions are 'a,b'."; fault == nil || fault.Message != want {
			t.Errorf("%q: %v, want %s", raw, fault, want)
		}
	}
	for _, c := range []struct {
		raw    string
		code   arm.Code
		target string
	}{
		{"api-version=", arm.InvalidAPIVersionParameter, "api-version"},
		{"api-version", arm.InvalidAPIVersionParameter, "api-version"},
		{"api-version=%zz", arm.InvalidAPIVersionParameter, "api-version"},
		{"api-version=1;admin=1", arm.InvalidAPIVersionParameter, "api-version"},
		{"api-version=1&api-version=1", arm.InvalidAPIVersionParameter, "api-version"},
		{"api-version=1&x=2&API%2dVERSION=2", arm.InvalidAPIVersionParameter, "api-version"},
		{"x=1;api-version=2", arm.InvalidAPIVersionParameter, "api-version"},
		{"x=1;API%2Dversion=2&api-version=1", arm.InvalidAPIVersionParameter, "api-version"},
		{"x=%", arm.InvalidQueryParameter, "x"},
		{"%=1", arm.InvalidQueryParameter, "%"},
		{"a=b&%zzapi-version=1", arm.InvalidQueryParameter, "%zzapi-version"},
	} {
		_, fault := parseQuery(c.raw, ownVersions)
		if fault == nil || fault.Code != c.code || fault.Target != c.target || fault.Status != 400 {
			t.Errorf("%q: got %+v, want %s about %q", c.raw, fault, c.code, c.target)
		}
	}
}

func TestQueryGet(t *testing.T) {
	for _, c := range []struct {
		raw, name, value string
		there            bool
	}{
		{"$skiptoken=a", "$skipToken", "a", true},
		{"x=1&$SkipToken=a%2Bb", "$skipToken", "a+b", true},
		{"%24skipToken=a", "$skipToken", "a", true},
		{"%24SKIPTOKEN=a&$skiptoken=b", "$skipToken", "a", true},
		{"$skipToken", "$skipToken", "", true},
		{"$skipToken=", "$skipToken", "", true},
		{"$skipTokens=a&skipToken=b", "$skipToken", "", false},
		{"%zz=1&$top=5", "$top", "5", true},
		{"$top=%zz", "$top", "", false},
		{"", "$top", "", false},
	} {
		value, there := (Query{Raw: c.raw}).Get(c.name)
		if value != c.value || there != c.there {
			t.Errorf("%q: got %q, %v", c.raw, value, there)
		}
	}
}

func TestCheckOptions(t *testing.T) {
	for raw, twice := range map[string]string{
		"":                                 "",
		"$top=1":                           "",
		"$top=1&$skipToken=a&$filter=b":    "",
		"a=1&a=2&top=1&$top=1":             "",
		"%zz=1&%zz=1&&&":                   "",
		"$top=1&$top=1":                    "$top",
		"$top&$top":                        "$top",
		"$skipToken=a&$top=1&$SkipToken=b": "$SkipToken",
		"%24filter=a&$filter=":             "$filter",
		"$filter=a&%24FILTER=b":            "$FILTER",
	} {
		fault := (Query{Raw: raw}).CheckOptions()
		if twice == "" && fault == nil {
			continue
		}
		if fault == nil || fault.Code != arm.InvalidQueryParameter || fault.Target != twice || fault.Status != 400 {
			t.Errorf("%q: %+v, want one about %q", raw, fault, twice)
		}
	}
}

func TestQueryWithout(t *testing.T) {
	for _, c := range []struct{ raw, name, rest string }{
		{"", "a", ""},
		{"a=1", "a", ""},
		{"a=1&b=%2f+'&A=2&%61&c", "a", "b=%2f+'&c"},
		{"&&b=1&&", "a", "b=1"},
		{"%zz=1&a=2", "a", "%zz=1"},
		{"%24skiptoken=x&$top=1", "$skipToken", "$top=1"},
	} {
		if rest := (Query{Raw: c.raw}).Without(c.name); rest != c.rest {
			t.Errorf("%q without %s: got %q, want %q", c.raw, c.name, rest, c.rest)
		}
	}
}

func TestOperationIdentity(t *testing.T) {
	identity := func(method, path string) string {
		t.Helper()
		r, fault := Classify(sample(t), method, path, "t=1")
		if fault != nil {
			t.Fatal(path, fault)
		}
		return r.OperationIdentity()
	}
	located := sub + compute + "/locations/westus/"
	base := identity("GET", located+"operationResults/o")
	for _, same := range []string{
		located + "OPERATIONSTATUSES/O", located + "operationsStatus/o", located + "operations/o", located + "azureAsyncOperations/o", located + "operationResults/o/result",
		located + "operationResults/o/pages/2", located + "%6FperationResults/%6F/", sub + compute + "/locations/West%20US/operationResults/o", compute + "/locations/eastus/operationResults/o",
		sub + compute + "/operationResults/o", vms + "/west/operationResults/o", vms + "/west/agents/a/operations/o", strings.ToUpper(located) + "operationResults/o", located + "operationResults/o;v=1", located + "operationResults/%20o%20",
	} {
		if identity("GET", same) != base {
			t.Errorf("%s: another identity", same)
		}
	}
	for _, other := range []string{
		located + "operationResults/p", located + "jobs/o", located + "usages", sub + guard + "/operationResults/o", sub + compute + "/operationResults",
		vms + "/west/agents", vms + "/o", vms + "/operations", located + "o/operationResults", sub + compute + "/locations/operations/o",
	} {
		if identity("GET", other) == base {
			t.Errorf("%s: the same identity", other)
		}
	}
	for _, method := range []string{"DELETE", "HEAD", "PUT"} {
		if identity(method, located+"operations/o") != base {
			t.Errorf("%s: another identity", method)
		}
	}
	if identity("POST", located+"operations/o/cancel") != base {
		t.Error("an action on the operation has another identity")
	}
	jobs := identity("GET", located+"jobs/o/result")
	if jobs != identity("GET", sub+compute+"/locations/West%20US/JOBS/O/result") || jobs == identity("GET", located+"jobs/o") || jobs == identity("GET", located+"jobs/p/result") {
		t.Error("a path of no usual name is not known by itself")
	}
	for _, path := range []string{vms + "/west", vms, sub + guard + "/guards/g", sub, rg} {
		if got := identity("GET", path); got != "" {
			t.Errorf("%s: identity %s, though it is a resource's", path, got)
		}
	}
}

func TestPollToken(t *testing.T) {
	token := func(path, raw string) string { return PollToken(path, Query{Raw: raw}) }
	base := token("/a/operationResults/X", "api-version=1&t=Abc")
	if len(base) != 64 {
		t.Errorf("token %q", base)
	}
	for name, same := range map[string]string{
		"other casing of the path": token("/A/OPERATIONRESULTS/x", "api-version=1&t=Abc"),
		"other api-version":        token("/a/operationResults/X", "t=Abc&API-version=2"),
		"no api-version":           token("/a/operationResults/X", "t=Abc"),
	} {
		if same != base {
			t.Errorf("%s: another token", name)
		}
	}
	for name, other := range map[string]string{
		"other path":           token("/a/operationResults/Y", "t=Abc"),
		"other value":          token("/a/operationResults/X", "t=abc"),
		"no value":             token("/a/operationResults/X", ""),
		"boundary moved":       token("/a/operationResults/X?t=Abc", ""),
		"one more of the same": token("/a/operationResults/X", "t=Abc&t=Abc"),
	} {
		if other == base {
			t.Errorf("%s: the same token", name)
		}
	}
}
