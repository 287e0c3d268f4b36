package arm

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

const sub = "/subscriptions/00000000-0000-0000-0000-000000000001"

func TestPathStructure(t *testing.T) {
	for _, c := range []struct {
		raw, text, subscription, group, namespace, segments string
	}{
		{"/", "/", "", "", "", ""},
		{"//", "/", "", "", "", ""},
		{sub, sub, sub[15:], "", "", ""},
		{sub + "/", sub, sub[15:], "", "", ""},
		{sub + "//", sub, sub[15:], "", "", ""},
		{"/" + sub, sub, sub[15:], "", "", ""},
		{"/SUBSCRIPTIONS/x/resourcegroups/Rg", "/SUBSCRIPTIONS/x/resourcegroups/Rg", "x", "Rg", "", ""},
		{sub + "/resourceGroups/providers/NS/t/n", sub + "/resourceGroups/providers/NS/t/n", sub[15:], "providers", "", ""},
		{sub + "/resourceGroups/g/providers/NS//t/n", sub + "/resourceGroups/g/providers/NS/t/n", sub[15:], "g", "NS", "t,n"},
		{sub + "/resourceGroups/g/PROVIDERS/NS/t/providers", sub + "/resourceGroups/g/PROVIDERS/NS/t/providers", sub[15:], "g", "NS", "t,providers"},
		{sub + "/resourceGroups/g/providers/NS/t/n/t2", sub + "/resourceGroups/g/providers/NS/t/n/t2", sub[15:], "g", "NS", "t,n,t2"},
		{"/providers/NS/t/n/providers/N2/e/x/providers/N3/f/y", "/providers/NS/t/n/providers/N2/e/x/providers/N3/f/y", "", "", "N3", "f,y"},
		{"/providers/NS/t/a%20b", "/providers/NS/t/a b", "", "", "NS", "t,a b"},
		{"/subscriptions%2Fx%2fresourceGroups%2Fg/providers/NS/e/n", "/subscriptions/x/resourceGroups/g/providers/NS/e/n", "x", "g", "NS", "e,n"},
		{"/%2Fsubscriptions%2Fx/providers/NS/e/n", "/subscriptions/x/providers/NS/e/n", "x", "", "NS", "e,n"},
		{sub + "/resourceGroups/日本", sub + "/resourceGroups/日本", sub[15:], "日本", "", ""},
	} {
		var p Path
		if err := p.Parse(c.raw); err != nil {
			t.Errorf("%s: %v", c.raw, err)
			continue
		}
		namespace, segments := "", ""
		if p.Hops() > 0 {
			hop := p.LastHop()
			namespace = hop.Namespace()
			var all []string
			for i := range hop.Len() {
				all = append(all, hop.Segment(i))
			}
			segments = strings.Join(all, ",")
		}
		if p.String() != c.text || p.Subscription() != c.subscription || p.Group() != c.group || namespace != c.namespace || segments != c.segments {
			t.Errorf("%s: got %q %q %q %q %q", c.raw, p.String(), p.Subscription(), p.Group(), namespace, segments)
		}
		var again Path
		if err := again.Parse(p.Escaped()); err != nil || again.String() != p.String() {
			t.Errorf("%s: escaped form %q reads as %q, %v", c.raw, p.Escaped(), again.String(), err)
		}
	}
}

func TestPathRefusals(t *testing.T) {
	for raw, code := range map[string]Code{
		"":                                            InvalidRequestURI,
		"subscriptions/x":                             InvalidRequestURI,
		sub + "/resourceGroups//providers/N/t":        InvalidResourceGroup,
		"/subscriptions//resourceGroups/g":            InvalidSubscriptionID,
		"/providers/NS/t//x":                          InvalidResourceName,
		sub + "/resourceGroups/g//providers/N/t":      InvalidRequestURI,
		sub + "/resourceGroups/g%2fproviders":         InvalidRequestURI,
		sub + "/resourceGroups/%2e%2e":                InvalidRequestURI,
		sub + "/resourceGroups/../x":                  InvalidRequestURI,
		sub + "/resourceGroups/..%2f..%2fadmin":       InvalidRequestURI,
		sub + "/resourceGroups/%252e%252e%252f":       InvalidRequestURI,
		sub + "/resourceGroups/a%5cb":                 InvalidRequestURI,
		sub + `/resourceGroups/a\b`:                   InvalidRequestURI,
		sub + "/resourceGroups/a%00":                  InvalidRequestURI,
		sub + "/resourceGroups/a%0d%0ab":              InvalidRequestURI,
		sub + "/resourceGroups/%C0%AF":                InvalidRequestURI,
		sub + "/resourceGroups/\xc0\xaf":              InvalidRequestURI,
		sub + "/resourceGroups/a%zz":                  InvalidRequestURI,
		sub + "/resourceGroups/a%2":                   InvalidRequestURI,
		sub + "/resourceGroups/a#b":                   InvalidRequestURI,
		"/subscriptions%2Fx%252Fy/providers/N/t/n":    InvalidRequestURI,
		"/a" + strings.Repeat("/a", 64):               InvalidRequestURI,
		strings.Repeat("/providers/N/t/n", 9):         InvalidRequestURI,
		"/subscriptions%2Fx%2F..%2Fy/providers/N/t/n": InvalidRequestURI,
		"/subscriptions%2Fx%00":                       InvalidRequestURI,
		"/subscriptions%2Fx%0d%0ay":                   InvalidRequestURI,
		"/subscriptions%2Fx%5cy":                      InvalidRequestURI,
		"/subscriptions%2Fx%2Fa%C0%AF":                InvalidRequestURI,
	} {
		var p Path
		err := p.Parse(raw)
		var fault *PathError
		if !errors.As(err, &fault) || fault.Code != code {
			t.Errorf("%q: got %v, want %s", raw, err, code)
		}
	}
}

func TestPathAllocatesNothing(t *testing.T) {
	raw := sub + "/resourceGroups/rg/providers/Contoso.Compute/virtualMachines/vm1/disks/d1"
	var p Path
	buffer := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() {
		if err := p.Parse(raw); err != nil {
			t.Fatal(err)
		}
		buffer = AppendFold(buffer[:0], p.String())
		buffer = p.LastHop().AppendTypeKey(buffer[:0], 2)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if string(buffer) != "virtualmachines/disks" {
		t.Errorf("type key %q", buffer)
	}
}

// Whatever the spelling of a path, it names one thing and has one escaped form, in
// which no server can distinguish spellings.
func TestPathSpellings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const below = sub + "/resourceGroups/rg/providers/Contoso.Compute/virtualMachines/"
		name := rapid.StringOfN(rapid.RuneFrom([]rune("aZ09-._~!$'()*,;=@+ #\"|{}[]^`&:<>éßσςＡ日ſıİ\u212a\u0301\u200b\U0001F600"), unicode.L, unicode.P), 1, 12, -1).Draw(t, "name")
		if strings.ContainsAny(name, `/\%`) || name == "." || name == ".." {
			t.Skip("no segment")
		}
		spell := func(label string) (string, Path) {
			var raw strings.Builder
			for _, r := range name {
				form := rapid.SampledFrom([]string{"%%%02x", "%%%02X", "%c"}).Draw(t, label)
				if form == "%c" && r != '#' {
					raw.WriteRune(r)
					continue
				}
				for _, c := range []byte(string(r)) {
					fmt.Fprintf(&raw, strings.Replace(form, "%c", "%%%02X", 1), c)
				}
			}
			var p Path
			if err := p.Parse(below + raw.String()); err != nil {
				t.Fatalf("%q: %v", raw.String(), err)
			}
			return raw.String(), p
		}
		raw, p := spell("one")
		other, q := spell("another")
		if p.String() != below+name || p.String() != q.String() || p.Escaped() != q.Escaped() {
			t.Fatalf("%q is %q, written %q; %q is %q, written %q", raw, p.String(), p.Escaped(), other, q.String(), q.Escaped())
		}
		written := strings.TrimPrefix(p.Escaped(), below)
		if strings.ContainsAny(written, "/;+&:?#\"<>[]^`{|} ") || strings.ContainsFunc(written, func(r rune) bool { return r >= 0x7f }) {
			t.Fatalf("%q is written %q", name, written)
		}
		var again Path
		if err := again.Parse(p.Escaped()); err != nil || again.String() != p.String() {
			t.Fatalf("%q is written %q, which reads as %q, %v", name, p.Escaped(), again.String(), err)
		}
	})
}

// Two valid names are equal to Portico if they are equal to a server that compares them
// in a common way.
func TestNamesThatServersTakeForTheSame(t *testing.T) {
	common := map[string]func(string) string{
		"lower case": strings.ToLower, "upper case": strings.ToUpper,
		"upper then lower": func(s string) string { return strings.ToLower(strings.ToUpper(s)) },
	}
	for r := rune(1); r <= unicode.MaxRune; r++ {
		name := "n" + string(r)
		if !ValidResourceName(name) {
			continue
		}
		for how, fold := range common {
			if same := fold(name); ValidResourceName(same) && !EqualFold(name, same) || strings.IndexFunc(same, func(r rune) bool { return r >= 0x80 }) < 0 && r >= 0x80 {
				t.Errorf("%q is %q in %s, and another name here", name, same, how)
			}
		}
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			if same := "n" + string(other); ValidResourceName(same) && !EqualFold(name, same) || other < 0x80 && r >= 0x80 {
				t.Errorf("%q is equal to %q where case is folded, and another name here", name, same)
			}
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/", sub, sub + "//", "/subscriptions%2Fx/providers/NS/e/n", "/providers/NS//t/a%20b",
		"/providers/N/t/n/providers/N2/e", sub + "/resourceGroups/%2e", "/a%", "/é/\xff"} {
		f.Add(seed)
	}
	f.Add("/suBsCriptions%2F0%00")
	f.Fuzz(func(t *testing.T, raw string) {
		var p Path
		if p.Parse(raw) != nil {
			return
		}
		text := p.String()
		if strings.Contains(text, "//") || strings.ContainsAny(text, "\\%\x00\x7f") || !strings.HasPrefix(text, "/") {
			t.Fatalf("%q reads as %q", raw, text)
		}
		joined := ""
		for i := range p.Len() {
			segment := p.Segment(i)
			if segment == "" || segment == "." || segment == ".." || strings.Contains(segment, "/") {
				t.Fatalf("%q has the segment %q", raw, segment)
			}
			joined += "/" + segment
		}
		if joined != strings.TrimSuffix(text, "/") {
			t.Fatalf("%q: segments %q are not the text %q", raw, joined, text)
		}
		var again Path
		if err := again.Parse(p.Escaped()); err != nil {
			t.Fatalf("%q: its escaped form %q is refused: %v", raw, p.Escaped(), err)
		}
		if strings.ContainsAny(p.Escaped(), ";+&:?#\" ") {
			t.Fatalf("%q is written %q", raw, p.Escaped())
		}
		if again.String() != text || again.Subscription() != p.Subscription() || again.Group() != p.Group() || again.Hops() != p.Hops() {
			t.Fatalf("%q: escaped form %q reads otherwise", raw, p.Escaped())
		}
	})
}
