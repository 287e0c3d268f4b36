package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// setting is what reading shows of one key: how it is read, and what it is
// where it is left out.
type setting struct {
	path    string // as faults name it, without the places of lists: auth.tokens.sha256
	form    form
	keys    []string // of a mapping, or of each item of a list of mappings, in order
	needed  bool     // it has no default
	noun    string   // what a scalar is: "positive duration"
	allowed string   // what may stand there, as faults say it
	preset  string   // the default, as it would be written; empty: none
	word    string   // that may stand in place of the mapping
	shape   shape
	filled  bool // a list that is not empty
}

type form uint8

const (
	isScalar    form = iota
	isMapping        // keys under which there are settings
	isList           // of scalars
	isMappings       // a list of mappings
	isAddresses      // lists of addresses by region
)

// notes gathers the settings that a reading asks for, by path. A nil *notes
// gathers nothing, so that every other reading does not pay for it.
type notes struct {
	settings map[string]*setting
}

// at returns the setting of a path, which is made when it is new.
func (n *notes) at(path string) *setting {
	s := n.settings[path]
	if s == nil {
		s = &setting{path: path}
		n.settings[path] = s
	}
	return s
}

// mapping notes the keys that are read under a path.
func (n *notes) mapping(path string, keys []string) {
	if n == nil {
		return
	}
	s := n.at(path)
	s.keys = keys
	if s.form == isList || s.form == isMappings {
		s.form = isMappings // these are the keys of its items
		return
	}
	s.form = isMapping
}

// list notes that a path holds a list.
func (n *notes) list(path string, filled bool) {
	if n == nil {
		return
	}
	s := n.at(path)
	if s.form != isMappings {
		s.form = isList
	}
	s.filled = s.filled || filled
}

func (n *notes) need(path string) {
	if n != nil {
		n.at(path).needed = true
	}
}

// orWord notes a word that may stand in place of a mapping.
func (n *notes) orWord(path, word string) {
	if n != nil {
		n.at(path).word = word
	}
}

// addresses notes a mapping from regions to lists of addresses.
func (n *notes) addresses(path, allowed string) {
	if n == nil {
		return
	}
	s := n.at(path)
	s.form, s.noun, s.allowed, s.shape = isAddresses, "addresses by region", allowed, addressShape(hostPattern, "")
}

// noteScalar notes a scalar. before is what the setting is before the file is
// read: the default.
func noteScalar[T any](n *notes, path string, want rule[T], before T) {
	if n == nil {
		return
	}
	s := n.at(path)
	s.noun, s.allowed, s.shape, s.preset = want.noun, want.allowed, want.shape, written(before)
	if s.shape.empty() {
		s.shape = shapeOf(before)
	}
}

// noteItem notes what the items of a list are.
func noteItem[T any](n *notes, path string, want rule[T]) {
	if n == nil {
		return
	}
	if s := n.at(path); s.form == isList {
		var none T
		noteScalar(n, path, want, none)
		s.preset = ""
	}
}

// address notes a URL, whose path matches paths.
func (n *notes) address(path, allowed, paths string) {
	if n != nil {
		s := n.at(path)
		s.noun, s.allowed, s.shape = "address", allowed, addressShape(hostPattern, paths)
	}
}

// written is a value as a file would have it; empty where it says nothing.
func written(v any) string {
	switch v := v.(type) {
	case time.Duration:
		return writtenDuration(v)
	case int64:
		return writtenSize(v)
	case int, bool:
		return fmt.Sprint(v)
	case float64: // a share of a whole
		return fmt.Sprintf("%.0f%%", 100*v)
	case string:
		return v
	case fmt.Stringer:
		if slices.Contains([]string{"inherit", "invalid Prefix", "<nil>"}, v.String()) {
			return ""
		}
		return v.String()
	}
	return ""
}

func writtenDuration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

func writtenSize(bytes int64) string {
	for _, unit := range []struct {
		suffix string
		bytes  int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if bytes > 0 && bytes%unit.bytes == 0 {
			return fmt.Sprint(bytes/unit.bytes) + unit.suffix
		}
	}
	return fmt.Sprint(bytes)
}
