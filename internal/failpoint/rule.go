package failpoint

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Action is the effect of a rule.
type Action string

// The actions.
const (
	Pause Action = "pause"
	Fail  Action = "fail"
	Exit  Action = "exit"
	Kill  Action = "kill"
)

// Bounds of a pause.
const (
	DefaultPause = 10 * time.Second
	LongestPause = time.Minute
)

// ExitCode is the exit code of a process that a rule has ended by [Exit].
const ExitCode = 86

// Rule defines what happens at a point, and when.
type Rule struct {
	Action      Action
	Bound       time.Duration // of a pause
	After       int           // number of hits before it applies
	Probability float64       // at each hit; 0: always
	Once        bool          // only once
}

const grammar = "want pause, pause:DURATION, fail, exit or kill, and behind it any of ,after=COUNT ,p=PROBABILITY ,once"

// ParseRule parses a rule, such as pause:2s,after=3,once.
func ParseRule(text string) (Rule, error) {
	parts := strings.Split(strings.TrimSpace(text), ",")
	action, bound, bounded := strings.Cut(parts[0], ":")
	r := Rule{Action: Action(action)}
	wrong := func(part string) (Rule, error) {
		return Rule{}, fmt.Errorf("%q in the rule %q: %s", part, text, grammar)
	}
	switch r.Action {
	case Pause:
		r.Bound = DefaultPause
		if bounded {
			d, err := time.ParseDuration(bound)
			if err != nil || d <= 0 || d > LongestPause {
				return Rule{}, fmt.Errorf("%q in the rule %q: want a duration above 0s, at most %v", bound, text, LongestPause)
			}
			r.Bound = d
		}
	case Fail, Exit, Kill:
		if bounded {
			return wrong(parts[0])
		}
	default:
		return wrong(parts[0])
	}
	for _, part := range parts[1:] {
		if !r.restrict(part) {
			return wrong(part)
		}
	}
	return r, nil
}

// restrict parses a restriction of the rule, and reports whether it is valid.
func (r *Rule) restrict(part string) bool {
	name, value, _ := strings.Cut(part, "=")
	var err error
	switch name {
	case "after":
		r.After, err = strconv.Atoi(value)
		return err == nil && r.After > 0
	case "p":
		r.Probability, err = strconv.ParseFloat(value, 64)
		return err == nil && r.Probability > 0 && r.Probability <= 1
	case "once":
		r.Once = true
		return part == name
	}
	return false
}

// String formats the rule for [ParseRule].
func (r Rule) String() string {
	text := string(r.Action)
	if r.Action == Pause {
		text += ":" + r.Bound.String()
	}
	if r.After > 0 {
		text += ",after=" + strconv.Itoa(r.After)
	}
	if r.Probability > 0 {
		text += ",p=" + strconv.FormatFloat(r.Probability, 'g', -1, 64)
	}
	if r.Once {
		text += ",once"
	}
	return text
}

// parseRules parses the environment's rules: NAME=RULE, separated by semicolons.
func parseRules(text string) (map[Point]Rule, error) {
	rules := map[Point]Rule{}
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, rule, _ := strings.Cut(part, "=")
		d, ok := known(name)
		if !ok {
			return nil, unknownPoint(name)
		}
		var err error
		if rules[d.Point], err = d.rule(rule); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

// rule parses a rule for the point.
func (d Description) rule(text string) (Rule, error) {
	r, err := ParseRule(text)
	if err == nil && r.Action == Fail && !d.Fails {
		err = errors.New("no step can fail there; pause, exit and kill are allowed")
	}
	if err != nil {
		return Rule{}, fmt.Errorf("the point %s: %w", d.Point, err)
	}
	return r, nil
}

func unknownPoint(name string) error {
	var names []string
	for _, d := range All() {
		names = append(names, string(d.Point))
	}
	return fmt.Errorf("there is no point %q; there are %s", name, strings.Join(names, ", "))
}
