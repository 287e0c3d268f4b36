package main

import (
	"fmt"
	"sync"

	"portico/cmd/portico/terminal"
	"portico/provider/certify/contract"
)

// certifyProgress passes results on, and shows their number.
type certifyProgress struct {
	to    contract.Reporter
	total int

	mu     sync.Mutex
	bar    *terminal.Progress
	done   int
	failed int
}

// newCertifyProgress returns a reporter that passes results to another and shows the
// progress on a screen.
func newCertifyProgress(to contract.Reporter, target contract.Target, screen *terminal.Screen) *certifyProgress {
	return &certifyProgress{to: to, total: contract.Trials(target), bar: terminal.NewProgress(screen, "cases")}
}

// Report implements contract.Reporter.
func (p *certifyProgress) Report(r contract.Result) {
	p.to.Report(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if r.Outcome == contract.Broken || r.Outcome == contract.Unreached {
		p.failed++
	}
	note := ""
	if p.failed > 0 {
		note = fmt.Sprintf("%d not kept", p.failed)
	}
	p.bar.Set(p.done, p.total, note)
}

// End ends the line of the bar.
func (p *certifyProgress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bar.End()
}
