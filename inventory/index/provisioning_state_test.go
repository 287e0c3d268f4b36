package index

import (
	"strings"
	"testing"
)

func TestStates(t *testing.T) {
	type meaning struct{ terminal, successful, canceled bool }
	for state, want := range map[string]meaning{
		"":          {terminal: true, successful: true},
		"Succeeded": {terminal: true, successful: true},
		"Failed":    {terminal: true},
		"Canceled":  {terminal: true, canceled: true},
		"Cancelled": {terminal: true, canceled: true},
		"Creating":  {}, "Deleting": {}, "Cancelling": {}, "Canceling": {}, "Ready": {}, "Cancel": {}, "Failing": {},
	} {
		for _, spelled := range []string{state, strings.ToLower(state), strings.ToUpper(state)} {
			if got := (meaning{Terminal(spelled), Successful(spelled), Canceled(spelled)}); got != want {
				t.Errorf("%q: %+v, want %+v", spelled, got, want)
			}
		}
	}
}
