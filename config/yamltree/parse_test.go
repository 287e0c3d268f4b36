package yamltree

import (
	"fmt"
	"strings"
	"testing"
)

// show writes a tree in a form that tells scalars from structure.
func show(n *Node) string {
	switch n.Kind {
	case Scalar:
		return fmt.Sprintf("%q", n.Text)
	case List:
		var items []string
		for _, item := range n.Items {
			items = append(items, show(item))
		}
		return "[" + strings.Join(items, " ") + "]"
	case Mapping:
		var entries []string
		for _, e := range n.Entries {
			entries = append(entries, e.Key.Text+"="+show(e.Value))
		}
		return "{" + strings.Join(entries, " ") + "}"
	}
	return "-"
}

func TestParseYAML(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "{}"},
		{"# only a comment\n", "{}"},
		{"---\na: 1\n", `{a="1"}`},
		{"\ufeffa: 1", `{a="1"}`},
		{"a: 1\r\nb:\r\n- 2\r\n", `{a="1" b=["2"]}`},
		{"a:\nb: ~\nc: null\nd: ''", `{a=- b=- c=- d=""}`},
		{"a: 0x10\nb: 1_000\nc: 1e3\nd: 007\ne: 2024-01-01\nf: no\ng: true", `{a="0x10" b="1_000" c="1e3" d="007" e="2024-01-01" f="no" g="true"}`},
		{"a: |\n  x\n  y\nb: >\n  x\n  y\n", `{a="x\ny\n" b="x y\n"}`},
		{"a: \"x\\ty\"\nb: 'it''s'", `{a="x\ty" b="it's"}`},
		// A plain scalar ends at a colon only where white space follows.
		{"a: {b: [http://127.0.0.1:8101, x:1:2, é:1], c: http://h:1}", `{a={b=["http://127.0.0.1:8101" "x:1:2" "é:1"] c="http://h:1"}}`},
		{"a: [http://127.0.0.1:8101, 10:20]", `{a=["http://127.0.0.1:8101" "10:20"]}`},
		{"a: {b:c, d: e}", `{a={b:c=- d="e"}}`},
		{`a: {"b":c, d: {e: f}}`, `{a={b="c" d={e="f"}}}`},
		{"a: {b : c, d: e}", `{a={b="c" d="e"}}`},
		{"a: {b: c # comment: {\n  , d: e}", `{a={b="c" d="e"}}`},
	} {
		r := &Report{}
		n := r.Parse("x.yaml", []byte(c.text))
		if err := r.Err(); err != nil {
			t.Errorf("%q: %v", c.text, err)
		} else if got := show(n); got != c.want {
			t.Errorf("%q: got %s, want %s", c.text, got, c.want)
		}
	}
}

func TestNodesKnowTheirPlace(t *testing.T) {
	r := &Report{}
	n := r.Parse("x.yaml", []byte("# head\na:\n  - b: 1\n    c: {d: 2,\n        e: 3}\n  - |\n    text\n    more\n  - last\nz: 9\n"))
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	items := n.Lookup("a").Value.Items
	e := items[0].Lookup("c").Value.Lookup("e")
	for _, c := range []struct {
		name         string
		n            *Node
		line, column int
	}{
		{"the root", n, 2, 1},
		{"a list's first item", items[0], 3, 5},
		{"a key in braces", e.Key, 5, 9},
		{"its value", e.Value, 5, 12},
		{"what follows a block scalar", items[2], 9, 5},
		{"the last key", n.Lookup("z").Key, 10, 1},
	} {
		if c.n.Line != c.line || c.n.Column != c.column {
			t.Errorf("%s is at %d:%d, want %d:%d", c.name, c.n.Line, c.n.Column, c.line, c.column)
		}
	}
}
