package report

import (
	"cmp"
	"slices"

	"portico/provider/certify/contract"
)

// Verdict is the verdict of a run about one profile.
type Verdict struct {
	Profile contract.Profile `json:"profile"`
	Claimed bool             `json:"claimed"`
	// Outcome is Broken if any rule is broken; else Unreached if any trial was
	// unreached; else Kept if any rule was tried, and LeftOut if none was.
	Outcome contract.Outcome `json:"outcome"`
	Counts
}

// Counts holds the numbers of trials, each a case on a type, by their outcome.
type Counts struct {
	Kept      int `json:"kept"`
	Broken    int `json:"broken"`
	Unreached int `json:"unreached"`
	LeftOut   int `json:"leftOut"`
}

// All returns the number of trials.
func (c Counts) All() int { return c.Kept + c.Broken + c.Unreached + c.LeftOut }

func (c *Counts) add(o contract.Outcome) {
	switch o {
	case contract.Kept:
		c.Kept++
	case contract.Broken:
		c.Broken++
	case contract.Unreached:
		c.Unreached++
	case contract.LeftOut:
		c.LeftOut++
	}
}

func (c Counts) outcome() contract.Outcome {
	switch {
	case c.Broken > 0:
		return contract.Broken
	case c.Unreached > 0:
		return contract.Unreached
	case c.Kept > 0:
		return contract.Kept
	}
	return contract.LeftOut
}

// Verdicts returns the verdicts on the claimed profiles, followed by profiles
// whose trials were all left out.
func (r Run) Verdicts() []Verdict {
	var profiles []contract.Profile
	for _, p := range contract.Profiles() {
		profiles = append(profiles, p.Name)
	}
	add := func(p contract.Profile) {
		if !slices.Contains(profiles, p) { // from another version of the suite
			profiles = append(profiles, p)
		}
	}
	counts := map[contract.Profile]*Counts{}
	for _, result := range r.Results {
		add(result.Profile)
		if counts[result.Profile] == nil {
			counts[result.Profile] = &Counts{}
		}
		counts[result.Profile].add(result.Outcome)
	}
	for _, name := range r.Claimed {
		add(contract.Profile(name))
	}
	var verdicts []Verdict
	for _, p := range profiles {
		v := Verdict{Profile: p, Claimed: len(r.Claimed) == 0 || slices.Contains(r.Claimed, string(p))}
		if counts[p] != nil {
			v.Counts = *counts[p]
		}
		if !v.Claimed && v.All() == 0 {
			continue
		}
		v.Outcome = v.outcome()
		verdicts = append(verdicts, v)
	}
	slices.SortStableFunc(verdicts, func(a, b Verdict) int { return cmp.Compare(rank(a), rank(b)) })
	return verdicts
}

func rank(v Verdict) int {
	if v.Claimed {
		return 0
	}
	return 1
}

// Counts counts all trials of the run.
func (r Run) Counts() Counts {
	var c Counts
	for _, result := range r.Results {
		c.add(result.Outcome)
	}
	return c
}

// sorted returns the results by case and type.
func (r Run) sorted() []contract.Result {
	results := slices.Clone(r.Results)
	slices.SortStableFunc(results, func(a, b contract.Result) int {
		return cmp.Or(cmp.Compare(a.Case, b.Case), cmp.Compare(a.Type, b.Type))
	})
	return results
}
