package main

import (
	"portico/cmd/portico/operator"
	"portico/cmd/portico/terminal"
	"portico/provider/certify/contract"
	"portico/provider/certify/report"
)

type listedCase struct {
	ID         string `json:"id"`
	Profile    string `json:"profile"`
	Section    string `json:"section"`
	Guideline  string `json:"guideline,omitempty"`
	Rule       string `json:"rule"`
	Through    string `json:"through,omitempty"`
	Disruptive bool   `json:"disruptive,omitempty"`
}

func (c *certification) list() error {
	cases := contract.All()
	if c.format.ForPrograms() {
		listed := make([]listedCase, len(cases))
		for i, k := range cases {
			listed[i] = listedCase{k.ID, string(k.Profile), k.Section, k.Guideline, k.Rule, k.Through, k.Disruptive}
		}
		return c.format.Write(c.stdout, map[string]any{"value": listed}, nil)
	}
	table := terminal.Table[contract.Case]{Wide: c.format == terminal.WideFormat, Columns: []terminal.Column[contract.Case]{
		{Title: "ID", Cell: func(k contract.Case) string { return k.ID }},
		{Title: "PROFILE", Cell: func(k contract.Case) string { return string(k.Profile) }, Drop: 2},
		{Title: "DISRUPTIVE", Cell: disruptiveWord, Wide: true},
		{Title: "SECTION", Cell: func(k contract.Case) string { return k.Section }, Least: 16, Drop: 1},
		{Title: "GUIDELINE", Cell: func(k contract.Case) string { return k.Guideline }, Wide: true},
		{Title: "RULE", Cell: func(k contract.Case) string { return k.Rule }, Least: 24},
	}}
	return table.Write(terminal.On(c.stdout), c.stdout, cases)
}

func disruptiveWord(k contract.Case) string {
	if k.Disruptive {
		return "yes"
	}
	return ""
}

func (c *certification) compare(before, after string) error {
	older, err := report.Read(before)
	if err != nil {
		return notJudged(err)
	}
	newer, err := report.Read(after)
	if err != nil {
		return notJudged(err)
	}
	worse, err := report.Compare(c.stdout, older, newer)
	switch {
	case err != nil:
		return notJudged(err)
	case worse:
		return &operator.StatusError{Err: operator.ErrReported, Status: statusNotKept}
	}
	return nil
}
