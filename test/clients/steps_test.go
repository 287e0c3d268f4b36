package clients

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// step is a command as people type it, and what it must print. Its words are
// separated by spaces alone, and ” is an empty one; $S stands for the
// subscription's id, $P for Portico's URL.
type step struct {
	command string
	// prints is the JSON on standard output, without its white space; "" is none.
	prints string
	// says is the whole line that begins with "ERROR:", of a command that must
	// fail with the exit status code, and without printing anything.
	says string
	code int
}

// play runs commands one after the other. After one that goes wrong the others
// would only tell of it again.
func (c azure) play(t *testing.T, steps ...step) {
	t.Helper()
	fill := strings.NewReplacer("$S", c.SubscriptionPath(), "$P", c.Portico.URL)
	for _, s := range steps {
		words := strings.Fields(fill.Replace(s.command))
		for i := range words {
			if words[i] == "''" {
				words[i] = ""
			}
		}
		o := c.run(t, words...)
		lines := strings.Split(strings.TrimRight(o.Stderr, "\n"), "\n")
		failure := ""
		if i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "ERROR: ") }); i >= 0 {
			failure = strings.TrimPrefix(lines[i], "ERROR: ")
		}
		prints, says := compact(t, o.Stdout), fill.Replace(s.says)
		if want := fill.Replace(s.prints); o.Code != s.code || failure != says || prints != want {
			t.Fatalf("az %s\nexit status %d, want %d\nprinted  %s\nwant     %s\nerror    %s\nwant     %s\nstandard error:\n%s",
				s.command, o.Code, s.code, prints, want, failure, says, o.Stderr)
		}
	}
}

// compact is JSON without its white space.
func compact(t *testing.T, text string) string {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		return ""
	}
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(text)); err != nil {
		t.Fatalf("%v in what az printed:\n%s", err, text)
	}
	return out.String()
}
