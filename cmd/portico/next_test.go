package main

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"portico/gateway/admin/api"
)

// What problems name as the next step is there: a command that takes the flags and
// arguments, or a path of the admin listener.
func TestNextStepsOfProblemsExist(t *testing.T) {
	commands := 0
	for _, k := range api.ProblemKinds() {
		if k.Next == "" {
			continue
		}
		words := strings.Fields(strings.ReplaceAll(k.Next, api.NextOf, "something"))
		switch words[0] {
		case "portico":
			commands++
			if err := takes(words[1:]); err != nil {
				t.Errorf("%s: %s: %v", k.Code, k.Next, err)
			}
		default:
			if !slices.ContainsFunc(api.Operations(), func(o api.Operation) bool {
				return k.Next == o.Method+" "+strings.ReplaceAll(o.Path, "{name}", api.NextOf)
			}) {
				t.Errorf("%s: the admin listener has no %s", k.Code, k.Next)
			}
		}
	}
	if commands == 0 {
		t.Error("no problem names a command")
	}
	for _, line := range []string{"region", "regions now", "why", "jobs show", "jobs list --sort", "unstick"} {
		if takes(strings.Fields(line)) == nil {
			t.Errorf("portico %s counts as a command", line)
		}
	}
}

// takes reports, by its error, whether there is such a command line. It runs nothing.
func takes(line []string) error {
	c, rest, err := root(io.Discard, io.Discard).Find(line)
	if err != nil {
		return err
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	if !c.Runnable() {
		return errors.New("it only has commands below it")
	}
	if err := c.ValidateRequiredFlags(); err != nil {
		return err
	}
	return c.ValidateArgs(c.Flags().Args())
}
