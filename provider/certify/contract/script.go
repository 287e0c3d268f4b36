package contract

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// step is what a scene sent at one time: a call, or several concurrent ones.
type step struct {
	pause   time.Duration // before the step
	ended   time.Time
	answers []*Answer
}

// recordStep records the calls that the scene has made.
func (s *Scene) recordStep(answers ...*Answer) {
	s.steps = append(s.steps, step{s.paused, time.Now(), answers})
	s.paused = 0
}

// createdIDs returns the paths that the scene has PUT.
func (s *Scene) createdIDs() []string {
	var paths []string
	for _, step := range s.steps {
		for _, a := range step.answers {
			if a.call.method == http.MethodPut {
				path, _, _ := strings.Cut(a.call.target, "?")
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// shared returns the steps that created the objects that all scenes share.
func (s *Scene) shared() []step {
	var steps []step
	for _, a := range s.founding {
		own := *a
		own.s = s
		steps = append(steps, step{answers: []*Answer{&own}})
	}
	return steps
}

// script writes the calls of a scene as a POSIX shell script, from the first
// call to the latest that shows a fault. Run on a provider without the
// scene's resources, it shows the fault again. It takes values that an answer
// chooses anew each time from the answer.
func (s *Scene) script() string {
	if len(s.showing) == 0 || s.showing[0] == nil || s.showing[0].s == nil {
		return ""
	}
	of, end := s.showing[0].s, -1 // of another scene, if the case judges other scenes' answers
	for i, step := range of.steps {
		if slices.ContainsFunc(step.answers, func(a *Answer) bool { return slices.Contains(s.showing, a) }) {
			end = i
		}
	}
	if end < 0 {
		return ""
	}
	rounds, without := firstAndLast(repeated(slices.Concat(of.shared(), of.steps[:end+1])))
	var b strings.Builder
	if slices.ContainsFunc(rounds, func(r round) bool { return r.answers[0].call.certificate == showsForged }) {
		b.WriteString(forgery)
	}
	common, times := commonOptions(rounds), ""
	if of.timed {
		times = ` -w '\n(%{time_total} s)\n'`
	}
	fmt.Fprintf(&b, "again() { answer=$(curl -sS -i --path-as-is --globoff%s%s \"$@\"); printf '%%s\\n\\n' \"$answer\"; }\n", times, joined(common))
	for i := range rounds {
		rounds[i].write(common)
	}
	for i := range rounds {
		if i == firstRounds && without > 0 {
			fmt.Fprintf(&b, "# %d further calls are left out\n", without)
		}
		captures := rounds[i].captures(fmt.Sprint(i+1), rounds[i+1:])
		b.WriteString(rounds[i].text(s.Limits.Wait))
		for _, c := range captures {
			b.WriteString(c)
		}
	}
	return b.String()
}

// forgery makes a certificate with the subject of the front door's own, as forge does.
const forgery = `FORGED=$(mktemp); trap 'rm -f "$FORGED"' EXIT
openssl req -x509 -nodes -newkey rsa:2048 -days 1 -keyout "$FORGED" \
  -subj "$(openssl x509 -in "$TLS_CERT" -noout -subject -nameopt compat | sed 's,^subject= *,,')" 2>/dev/null >>"$FORGED"
`

// round is a step that is made one or more times in succession.
type round struct {
	step
	times   int
	earlier *Answer  // the second to last one, nil if there was only one
	lines   []string // a line for each of its calls
}

// repeated merges successive steps that make the same call.
func repeated(steps []step) []round {
	var rounds []round
	for i, s := range steps {
		if n := len(rounds); n > 0 && len(s.answers) == 1 && len(rounds[n-1].answers) == 1 && sameCall(s.answers[0].call, rounds[n-1].answers[0].call) {
			pause := max(s.pause, rounds[n-1].pause)
			rounds[n-1] = round{step: step{pause, s.ended, s.answers}, times: rounds[n-1].times + 1, earlier: rounds[n-1].answers[0]}
			continue
		}
		if i > 0 && steps[i-1].answers[0].underWay() && !s.answers[0].underWay() {
			s.pause = max(s.pause, s.ended.Sub(steps[i-1].ended)) // a running operation had that time
		}
		rounds = append(rounds, round{step: s, times: 1})
	}
	return rounds
}

// A long script has only the first and the last rounds.
const (
	firstRounds = 30
	lastRounds  = 10
)

// firstAndLast returns the rounds for the script, and the number of omitted ones.
func firstAndLast(rounds []round) (written []round, without int) {
	if without = len(rounds) - firstRounds - lastRounds; without <= 0 {
		return rounds, 0
	}
	return slices.Delete(rounds, firstRounds, firstRounds+without), without
}

func sameCall(a, b call) bool {
	return a.method == b.method && a.target == b.target && a.caller == b.caller && a.region == b.region && a.certificate == b.certificate &&
		bytes.Equal(a.body, b.body) && maps.EqualFunc(a.header, b.header, slices.Equal)
}

// commonOptions returns the options that all of the calls have.
func commonOptions(rounds []round) []string {
	var common []string
	first := true
	for _, r := range rounds {
		for _, a := range r.answers {
			_, options, _ := a.curlWords(a.exchange())
			if first {
				common, first = options, false
			}
			common = slices.DeleteFunc(slices.Clone(common), func(o string) bool {
				whose := strings.HasPrefix(o, "-H ") || strings.HasPrefix(o, "--cert ") || strings.HasPrefix(o, "--key ")
				return !whose || !slices.Contains(options, o)
			})
		}
	}
	return common
}

func joined(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return " " + strings.Join(words, " ")
}

func (r *round) write(common []string) {
	for _, a := range r.answers {
		e := a.exchange()
		if strings.HasPrefix(e.Curl, "#") {
			r.lines = append(r.lines, ": "+quote(strings.TrimPrefix(e.Curl, "# "), false))
			continue
		}
		before, options, url := a.curlWords(e)
		options = slices.DeleteFunc(options, func(o string) bool { return slices.Contains(common, o) })
		r.lines = append(r.lines, before+"again"+joined(append(options, url)))
	}
	alike := func(a *Answer) bool { return sameCall(a.call, r.answers[0].call) }
	if len(r.answers) > 1 && !slices.ContainsFunc(r.answers, func(a *Answer) bool { return !alike(a) }) {
		r.times, r.lines = len(r.answers), []string{r.lines[0] + " &"}
	}
}

// text returns the shell commands of a round. A call that was repeated until its answer
// changed is repeated as long as a case waits: it may take longer another time.
func (r *round) text(wait time.Duration) string {
	pause := ""
	if r.pause > 0 {
		pause = fmt.Sprintf("sleep %.2f; ", r.pause.Seconds())
	}
	switch {
	case len(r.lines) > 1:
		return pause + strings.Join(r.lines, " &\n") + " &\nwait\n"
	case len(r.answers) > 1:
		return fmt.Sprintf("%sn=0; while [ $n -lt %d ]; do n=$((n+1)); %s done\nwait\n", pause, r.times, r.lines[0])
	case r.times > 1:
		times, ends := r.times, ""
		if word, still := r.waitsWhile(); still != "" && r.pause > 0 {
			times = max(times, int(wait/r.pause))
			ends = "; case " + word + " in " + still + ") ;; *) break;; esac"
		}
		return fmt.Sprintf("n=0; while [ $n -lt %d ]; do n=$((n+1)); %s%s%s; done\n", times, pause, r.lines[0], ends)
	}
	return pause + r.lines[0] + "\n"
}

// underWay reports whether an answer shows an operation that has not ended.
func (a *Answer) underWay() bool {
	status := text(a.doc, "status") // of an operation
	return a.Status == http.StatusAccepted || !terminal(a.state()) || status != "" && !terminal(status)
}

// stateMember matches a JSON member with a state or status.
var stateMember = regexp.MustCompile(`"(?:status|provisioningState)"\s*:\s*"[A-Za-z]+"`)

// waitsWhile returns a shell word, and the pattern that it matches while the
// answers to a repeated call are unchanged; "" if they did not change.
func (r *round) waitsWhile() (word, still string) {
	before, last := r.earlier, r.answers[0]
	if before.Status != last.Status {
		return `${answer#* }`, fmt.Sprint(before.Status, "*") // after the version of HTTP
	}
	if state := stateMember.Find(before.Body); state != nil && !bytes.Contains(last.Body, state) {
		return `"$answer"`, "*" + quote(string(state), false) + "*"
	}
	return "", ""
}

// captures returns the lines that store values of the round's answer that later calls
// repeat. It replaces these values by variables in the lines of the later calls.
func (r *round) captures(number string, later []round) []string {
	if len(r.answers) != 1 {
		return nil
	}
	a := r.answers[0]
	const (
		header  = `$(printf '%%s\n' "$answer" | tr -d '\r' | grep -i '^%s:' | head -n 1 | cut -d ' ' -f 2-%s)`
		path    = ` | sed 's,^[a-zA-Z]*://[^/]*,,'`
		segment = path + ` | sed 's,?.*,,; s,.*/,,'`
	)
	var lines []string
	keep := func(name, value, command string) {
		if len(value) < 8 { // shorter values can be in a line by chance
			return
		}
		found := false
		value = strings.ReplaceAll(value, "'", `'\''`)
		for _, l := range later {
			for i, line := range l.lines {
				if strings.Contains(line, value) {
					l.lines[i], found = strings.ReplaceAll(line, value, `'"$`+name+number+`"'`), true
				}
			}
		}
		if found {
			lines = append(lines, name+number+"="+command+"\n")
		}
	}
	for name, of := range map[string]string{"location": "Location", "operation": "Azure-AsyncOperation"} {
		u, err := url.Parse(a.Header.Get(of))
		if err != nil {
			continue
		}
		keep(name, u.RequestURI(), fmt.Sprintf(header, of, path))
		keep(name+"id", nameOf(u.Path), fmt.Sprintf(header, of, segment))
	}
	keep("etag", a.Header.Get("ETag"), fmt.Sprintf(header, "ETag", ""))
	if u, err := url.Parse(text(a.doc, "nextLink")); err == nil {
		keep("next", u.RequestURI(), `$(printf '%s\n' "$answer" | sed -n 's/.*"nextLink": *"\([^"]*\)".*/\1/p' | sed 's/\\u0026/\&/g'`+path+`)`)
	}
	return lines
}
