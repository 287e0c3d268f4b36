package yamltree

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is an error or a warning about a configuration.
type Fault struct {
	File    string `json:"file"`             // as named by the caller or by an include
	Line    int    `json:"line,omitempty"`   // from 1; 0 for the whole file
	Column  int    `json:"column,omitempty"` // from 1; 0 if unknown
	What    string `json:"what"`             // the error
	Allowed string `json:"allowed,omitempty"`
}

func (f Fault) Error() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d", f.Line)
	}
	b.WriteString(": ")
	b.WriteString(f.What)
	if f.Allowed != "" {
		fmt.Fprintf(&b, " (allowed: %s)", f.Allowed)
	}
	return b.String()
}

// Faults are all faults of a configuration, sorted by file and line. It is an error.
type Faults []Fault

func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

// sorted sorts faults by position and removes duplicates.
func (f Faults) sorted() Faults {
	slices.SortStableFunc(f, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(f)
}

// Report collects faults and warnings.
type Report struct {
	faults   Faults
	warnings Faults
}

// Fault adds a fault at a node. allowed describes what is allowed there.
func (r *Report) Fault(at *Node, what, allowed string) {
	r.faults = append(r.faults, at.fault(what, allowed))
}

// Warn adds a warning.
func (r *Report) Warn(at *Node, what, allowed string) {
	r.warnings = append(r.warnings, at.fault(what, allowed))
}

// Err returns the [Faults] as an error, or nil if there are none.
func (r *Report) Err() error {
	if len(r.faults) == 0 {
		return nil
	}
	return r.faults.sorted()
}

// Warnings returns the warnings.
func (r *Report) Warnings() Faults { return r.warnings.sorted() }

// Unique reports duplicate values.
type Unique struct {
	r     *Report
	noun  string
	first map[string]*Node
}

// Unique returns an empty set of values. noun names a value in faults.
func (r *Report) Unique(noun string) *Unique { return &Unique{r: r, noun: noun} }

// Add reports whether key is new. If it is not, it adds a fault that quotes shown, unless that is
// "".
func (u *Unique) Add(at *Node, key, shown string) bool {
	if first := u.first[key]; first != nil {
		what := u.noun
		if shown != "" {
			what += " " + Quote(shown)
		}
		u.r.Fault(at, fmt.Sprintf("%s is given twice, first at %s", what, first.Where()), "each once")
		return false
	}
	if u.first == nil {
		u.first = make(map[string]*Node)
	}
	u.first[key] = at
	return true
}

// Quote quotes a text for a fault, shortened and on one line.
func Quote(text string) string { return fmt.Sprintf("%q", shorten(text)) }

// QuoteASCII does what Quote does, and escapes letters beyond ASCII, which may look like others.
func QuoteASCII(text string) string { return fmt.Sprintf("%+q", shorten(text)) }

func shorten(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && text[cut]&0xc0 == 0x80 {
		cut--
	}
	return text[:cut] + "..."
}

// Choice lists valid values for a fault, shortened if there are many.
func Choice[T any](values []T) string {
	const most = 24
	words := make([]string, 0, most+1)
	for i, v := range values {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(values)-most))
			break
		}
		words = append(words, fmt.Sprint(v))
	}
	return strings.Join(words, ", ")
}
