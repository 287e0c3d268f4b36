package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with a configuration, or unwise.
type Fault struct {
	File    string // as Load was given it, or found it by an include
	Line    int    // from 1; 0 when the file as a whole is meant
	Column  int    // from 1; 0 when unknown
	What    string // what is wrong
	Allowed string // what may stand there instead; may be empty
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

// Faults are all faults of one configuration, by file and line. It is the
// error type of [Load] and [Parse].
type Faults []Fault

func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

// report gathers what one run finds.
type report struct {
	faults   Faults
	warnings Faults
	notes    *notes // what is read, where it is to be described
	sources  Sources
}

func (r *report) fault(at *node, what, allowed string) {
	r.faults = append(r.faults, at.finding(what, allowed))
}

func (r *report) warn(at *node, what, allowed string) {
	r.warnings = append(r.warnings, at.finding(what, allowed))
}

// err returns the faults as an error; nil when there are none.
func (r *report) err() error {
	if len(r.faults) == 0 {
		return nil
	}
	return sorted(r.faults)
}

func sorted(f Faults) Faults {
	slices.SortStableFunc(f, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(f) // one mistake met on two ways is one fault
}

// fileFault is a fault of a whole file that could not be used. The path is the
// fault's own, and system errors repeat it: only their cause is kept.
func fileFault(path string, err error) Fault {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return Fault{File: path, What: err.Error(), Allowed: "a readable YAML file"}
}

// choice lists legal values for a fault, shortened where there are many.
func choice[T any](values []T) string {
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
