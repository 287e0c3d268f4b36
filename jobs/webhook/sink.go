package webhook

import (
	"crypto/x509"
	"slices"
	"strings"

	"portico/arm"
	"portico/config"
	"portico/events"
)

// Sink is a receiver of events, with the contents of its files.
type Sink struct {
	config.Sink
	Secrets     [][]byte // each signs
	Bearer      string   // "" for none
	Authorities *x509.CertPool
}

// wants reports whether the sink is sent an event that belongs to one of its
// subscriptions.
func (s *Sink) wants(e *events.Event) bool {
	if len(s.ResourceGroups) > 0 {
		group := groupOf(e.Key)
		if group == "" || !matchesAny(s.ResourceGroups, group) {
			return false
		}
	}
	return (len(s.Actions) == 0 || matchesAny(s.Actions, e.Action)) &&
		(len(s.Types) == 0 || matchesAny(s.Types, e.CloudEvent().Type))
}

// groupOf returns the name of the group that a folded ID lies in, or is; "" for none.
func groupOf(key string) string {
	if parts := strings.SplitN(key, "/", 6); len(parts) > 4 && parts[3] == "resourcegroups" {
		return parts[4]
	}
	return ""
}

func matchesAny(patterns []string, text string) bool {
	text = arm.Fold(text)
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(arm.Fold(pattern), text) })
}

// matches reports whether a text matches a pattern; * stands for any text.
func matches(pattern, text string) bool {
	first, rest, found := strings.Cut(pattern, "*")
	if !found {
		return pattern == text
	}
	text, found = strings.CutPrefix(text, first)
	for found {
		var part string
		last := true
		if part, rest, found = strings.Cut(rest, "*"); found {
			last = false
		}
		if last {
			return strings.HasSuffix(text, part)
		}
		_, text, found = strings.Cut(text, part) // the first place leaves most for the rest
	}
	return false
}
