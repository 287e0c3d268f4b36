package batch

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Members match without case, and of one that occurs twice the last counts; null
// leaves a text as it is.
func TestMembersOfABatch(t *testing.T) {
	for _, c := range []struct{ content, want string }{
		{`{"requests":[{"httpMethod":"GET","url":"/a"}]}`, "GET /a"},
		{` {"REQUESTS":[{"HTTPMETHOD":"get","Url":"/a"},{"httpMethod":"put","RELATIVEURL":"/b"}]} `, "GET /a|PUT /b"},
		{`{"re\u0071uests":[{"httpMethod":"GET","ur\u006c":"\/a\u0020b"}]}`, "GET /a b"},
		{`{"x":[{}],"requests":[{"httpMethod":"GET","url":"/a","unknown":{"url":7}}],"y":"z"}`, "GET /a"},
		{`{"requests":[{"httpMethod":"GET","url":"/a","URL":"/b"}]}`, "GET /b"},
		{`{"requests":[{"httpMethod":"GET","url":"/a","url":null,"httpMethod":null}]}`, "GET /a"},
		{`{"requests":[{"httpMethod":"GET","url":"/a"}],"Requests":[{"httpMethod":"PUT","url":"/b"}]}`, "PUT /b"},
		{`{"requests":[{"httpMethod":"GET","url":"/a","name":"n","name":null,"content":{"a": 1},"Content":[2]}]}`, "GET /a [2]"},
		{`{"requests":[{"httpMethod":"GET","url":"/a","name":7,"headers":{"x":"1"},"Headers":null}]}`, "7 GET /a"},

		{`{"requests":[{"httpMethod":"GET","url":"/a"}],"requests":null}`, "requests holds no request"},
		{`{"requests":[{"httpMethod":"GET","url":"/a"}],"requests":[{"url":"/b"}]}`, "requests[0]: httpMethod is missing"},
		{`{"requests":[{"httpMethod":"GET","url":7,"url":"/a"}]}`, "of the kind 'number' cannot stand here. Path 'requests[0].url'"},
		{`{"requests":[{"httpMethod":"` + strings.Repeat("G", 65) + `","url":"/a"}]}`, "requests[0]: httpMethod is too long"},
		{`{"requests":[{"httpMethod":"GET","url":"/a","headers":{"a":["b",null,{}]}}]}`, "the header 'a' is neither"},
		{`{"requests":[{"httpMethod":"GET","url":"/a","requestHeaderDetails":{"` + strings.Repeat("a", 4000) + `":7}}]}`, "a…' is neither"},
		{`{"requests":[{},{},{},{}]}`, "requests holds 4 requests, and may hold 3"},
		{`{"requests":[{"httpMethod":"GET","url":"/a"}]`, "Unexpected end of content"},
	} {
		requests, fault := Read([]byte(c.content), 3)
		var got []string
		for _, q := range requests {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s%s %s%s", string(q.Name), q.Method, q.URL, q.RelativeURL, string(q.Content), string(q.headers))))
		}
		if fault == nil && strings.Join(got, "|") != c.want || fault != nil && !strings.Contains(fault.Message, c.want) {
			t.Errorf("%.200s: got %q, %v, want %q", c.content, got, fault, c.want)
		}
	}
}

// Headers of one request are bounded in number and size, over all the names that
// they come under; of one that comes twice the last counts.
func TestHeadersInABatch(t *testing.T) {
	list := func(n int, each string) string { return strings.TrimSuffix(strings.Repeat(each+",", n), ",") }
	for _, c := range []struct{ members, want string }{
		{`"headers":{"a":"1","b":["2",null,"3"],"c":null,"d":[],"e":""}`, `map[A:[1] B:[2  3] E:[] User-Agent:[c]]`},
		{`"headers":{"x":"1"},"requestHeaderDictionary":{"X":"2","y":"3"},"requestHeaderDetails":{"commandName":"b","Y":"4"}`, `map[User-Agent:[c] X:[1] X-Ms-Command-Name:[b] Y:[3]]`},
		{`"headers":{"x":"1","X":["2","\u0033"],"user-agent":"u"}`, `map[User-Agent:[u] X:[2 3]]`},
		{`"headers":{"x":[` + list(100, `""`) + `]}`, `map[User-Agent`},
		{`"headers":{"x":[` + list(101, `""`) + `]}`, `431 The request header '*' is invalid: there is too much of it: at most 100 headers are allowed.`},
		{`"headers":{"x":[` + list(60, `""`) + `]},"requestHeaderDictionary":{` + list(41, `"x":""`) + `}`, `431 The request header '*' is invalid: there is too much of it: at most 100 headers`},
		{`"headers":{"x":"` + strings.Repeat("v", 16<<10) + `"}`, `431 The request header '*' is invalid: there is too much of it: at most 16384 bytes are allowed.`},
		{`"headers":{"x":"` + strings.Repeat(`\u0041`, 16<<10-1) + `"}`, `map[User-Agent`},
		{`"headers":{"` + strings.Repeat("n", 16<<10+1) + `":""}`, `at most 16384 bytes`},
		{`"headers":{"a b":""}`, `400 The request header 'a b' is invalid`},
	} {
		requests, fault := Read([]byte(`{"requests":[{"httpMethod":"GET","url":"/a",`+c.members+`}]}`), 1)
		if fault != nil {
			t.Fatal(fault)
		}
		header, fault := requests[0].Header(http.Header{"User-Agent": {"c"}})
		got := fmt.Sprint(header)
		if fault != nil {
			got = fmt.Sprint(fault.Status, " ", fault.Message)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%.100s: got %.300s, want %s", c.members, got, c.want)
		}
	}
}
