package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"portico/provider/certify/contract"
)

// Parts of the page. It loads nothing, and works without its script.
var (
	//go:embed report.tmpl
	pageText string
	//go:embed report.css
	pageStyle string
	//go:embed report.js
	pageScript string
)

// page is the content of report.html. All texts of a provider are plain
// strings, which the template escapes.
type page struct {
	Policy    string
	Style     template.CSS
	Script    template.JS
	Subject   string
	Headline  string
	Outcome   contract.Outcome
	Counts    Counts
	Claimed   []pageProfile
	Unclaimed []Verdict
	Groups    []pageGroup
	Reasons   []pageReason
	Left      []string
	Facts     []pageFact

	Explanation string
}

type pageProfile struct {
	Verdict
	About string
}

type pageFact struct{ Name, Value string }

// pageGroup holds the trials with one outcome.
type pageGroup struct {
	ID, Title, About string
	Trials           []pageTrial
}

// pageReason holds the trials that were left out for one reason.
type pageReason struct {
	Why    string
	Trials []pageTrial
}

type pageTrial struct {
	ID, Case, Type, Section, Rule, Through, Why, Began, Took string

	Profile   contract.Profile
	Outcome   contract.Outcome
	Guideline *contract.Guideline
	Faults    []pageFault
	Script    string
	Open      bool
}

type pageFault struct {
	Expected, Got string
	Exchange      *pageExchange
}

type pageExchange struct{ Request, RequestNote, Answer, AnswerNote, Curl string }

func writeHTML(w io.Writer, r Run) error {
	t, err := template.New("report").Funcs(template.FuncMap{"class": class, "word": word}).Parse(pageText)
	if err != nil {
		return err
	}
	return t.Execute(w, newPage(r))
}

func newPage(r Run) page {
	p := page{
		Policy:  "default-src 'none'; base-uri 'none'; form-action 'none'; style-src '" + digest(pageStyle) + "'; script-src '" + digest(pageScript) + "'",
		Style:   template.CSS(pageStyle), //nolint:gosec // the page's own
		Script:  template.JS(pageScript), //nolint:gosec // the page's own
		Subject: "Certification of " + visible(subject(r.Target)), Counts: r.Counts(), Facts: facts(r),
	}
	for _, id := range r.Left {
		p.Left = append(p.Left, visible(id))
	}
	about := map[contract.Profile]string{}
	for _, d := range contract.Profiles() {
		about[d.Name] = d.About
	}
	for _, v := range r.Verdicts() {
		if v.Claimed {
			p.Claimed = append(p.Claimed, pageProfile{v, about[v.Profile]})
		} else {
			p.Unclaimed = append(p.Unclaimed, v)
		}
	}
	p.Outcome, p.Headline, p.Explanation = headline(p.Claimed, p.Counts)
	p.group(r.sorted())
	return p
}

// digest returns a text's hash in the form of a content security policy.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// subject returns the namespaces that were tried.
func subject(t Target) string {
	var namespaces []string
	for _, name := range t.Types {
		namespace, _, _ := strings.Cut(name, "/")
		if !slices.Contains(namespaces, namespace) {
			namespaces = append(namespaces, namespace)
		}
	}
	if len(namespaces) == 0 {
		return "a resource provider"
	}
	return strings.Join(namespaces, ", ")
}

// headline returns the verdict on all claimed profiles.
func headline(claimed []pageProfile, c Counts) (outcome contract.Outcome, words, explanation string) {
	with := func(o contract.Outcome) string {
		var names []string
		for _, v := range claimed {
			if v.Outcome == o {
				names = append(names, string(v.Profile))
			}
		}
		return strings.Join(names, ", ")
	}
	switch {
	case c.Broken > 0:
		explanation = fmt.Sprintf("%d of %d trials found a rule of the contract broken.", c.Broken, c.Broken+c.Kept+c.Unreached)
		if c.Unreached > 0 {
			explanation += fmt.Sprintf(" %d did not reach their rule.", c.Unreached)
		}
		return contract.Broken, "Not kept: " + with(contract.Broken), explanation
	case c.Unreached > 0:
		return contract.Unreached, "Not reached: " + with(contract.Unreached),
			fmt.Sprintf("No rule was found broken, but %d trials did not reach their rule.", c.Unreached)
	case with(contract.LeftOut) != "":
		return contract.LeftOut, "Not tried: " + with(contract.LeftOut), "No rule was found broken, but nothing of these claimed profiles was tried."
	}
	words, explanation = "All claimed profiles are kept", fmt.Sprintf("All %d trials found the rules of the contract kept.", c.Kept)
	var untried, all int
	for _, v := range claimed {
		untried, all = untried+v.LeftOut, all+v.All()
	}
	if untried > 0 {
		words += fmt.Sprintf("; %d of %d not tried", untried, all)
		explanation = fmt.Sprintf("The %d trials that ran found the rules of the contract kept. The trials that were left out are listed below, with the reasons.", c.Kept)
	}
	return contract.Kept, words, explanation
}

func facts(r Run) []pageFact {
	var at []string
	if r.Target.Portico != "" {
		at = append(at, "the front door "+r.Target.Portico)
	}
	for _, region := range slices.Sorted(maps.Keys(r.Target.Endpoints)) {
		at = append(at, region+" "+r.Target.Endpoints[region])
	}
	disruptive := "left out"
	if r.Disruptive {
		disruptive = "included"
	}
	all := []pageFact{
		{"Tried at", strings.Join(at, ", ")}, {"Resource types", strings.Join(r.Target.Types, ", ")},
		{"Date", r.Began.UTC().Format("2 January 2006, 15:04 UTC")}, {"Took", duration(r.Took)},
		{"Suite", r.Suite}, {"Contract", r.Contract}, {"Disruptive cases", disruptive},
	}
	for i := range all {
		all[i].Value = visible(all[i].Value)
	}
	return slices.DeleteFunc(all, func(f pageFact) bool { return f.Value == "" })
}

// group groups the trials by their outcome.
func (p *page) group(results []contract.Result) {
	guidelines := map[string]contract.Guideline{}
	for _, g := range contract.Guidelines() {
		guidelines[g.Number] = g
	}
	trials := map[contract.Outcome][]pageTrial{}
	for _, r := range results {
		trials[r.Outcome] = append(trials[r.Outcome], pageTrialOf(r, guidelines))
	}
	for _, g := range []struct {
		outcome      contract.Outcome
		title, about string
	}{
		{contract.Broken, "Broken", "Each names its rule, the expected and the actual answer, and the request that showed it."},
		{contract.Unreached, "Unreached", "These cases could not be prepared."},
		{contract.Kept, "Kept", "These rules were tried and held."},
	} {
		if found := trials[g.outcome]; len(found) > 0 {
			p.Groups = append(p.Groups, pageGroup{strings.ToLower(g.title), g.title, g.about, found})
		}
	}
	reasons := map[string][]pageTrial{}
	counts := map[string]int{}
	for _, t := range trials[contract.LeftOut] {
		reasons[t.Why] = append(reasons[t.Why], t)
		counts[t.Why]++
	}
	for _, why := range byCount(counts) {
		p.Reasons = append(p.Reasons, pageReason{why, reasons[why]})
	}
}

// byCount returns the keys, the most frequent first.
func byCount(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

func pageTrialOf(r contract.Result, guidelines map[string]contract.Guideline) pageTrial {
	t := pageTrial{
		ID: Anchor(r), Case: visible(r.Case), Type: visible(r.Type), Section: visible(r.Section), Rule: visible(r.Rule),
		Through: visible(r.Through), Why: visible(r.Why), Script: visible(r.Script), Profile: r.Profile, Outcome: r.Outcome,
		Began: r.Began.UTC().Format("15:04:05.000 UTC"), Took: duration(r.Took),
		Open: r.Outcome == contract.Broken || r.Outcome == contract.Unreached,
	}
	if r.Guideline != "" {
		g, known := guidelines[r.Guideline]
		if !known { // from another version of the suite
			g.Number = visible(r.Guideline)
		}
		t.Guideline = &g
	}
	for _, f := range r.Faults {
		t.Faults = append(t.Faults, pageFault{visible(f.Expected), visible(f.Got), pageExchangeOf(f.Exchange)})
	}
	return t
}

// Anchor returns a trial's id in report.html, which is the same in each run.
func Anchor(r contract.Result) string {
	return strings.Join(strings.Fields(strings.Trim(r.Case+"@"+r.Type, "@")), "-")
}

func pageExchangeOf(e *contract.Exchange) *pageExchange {
	if e == nil {
		return nil
	}
	return &pageExchange{
		Request:     message(e.Method+" "+e.URL, e.RequestHeader, e.RequestBody),
		RequestNote: bodyNote("request's body", e.RequestBodyNote),
		Answer:      message(strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))), e.Header, e.Body),
		AnswerNote:  bodyNote("answer's body", e.BodyNote),
		Curl:        e.Curl,
	}
}

func bodyNote(what, text string) string {
	if text == "" {
		return ""
	}
	return "Of the " + what + ", the report shows: " + text + "."
}

// message formats a request or an answer as HTTP does.
func message(first string, header http.Header, body string) string {
	var b strings.Builder
	b.WriteString(first)
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			b.WriteString("\n" + name + ": " + value)
		}
	}
	if body != "" {
		b.WriteString("\n\n" + body)
	}
	return visible(b.String())
}

func duration(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Microsecond).String()
}

// class returns an outcome's name for the style sheet.
func class(o contract.Outcome) string { return strings.ReplaceAll(string(o), " ", "-") }

// word returns an outcome with a sign, for readers who cannot distinguish the colours.
func word(o contract.Outcome) string {
	sign := map[contract.Outcome]string{contract.Kept: "✓", contract.Broken: "✗", contract.Unreached: "!", contract.LeftOut: "–"}[o]
	return strings.TrimSpace(sign + " " + string(o))
}
