package main

import (
	"fmt"
	"sync"

	"portico/cmd/portico/terminal"
	"portico/provider/certify/contract"
)

// certifyProgress passes results on, and shows how many there are.
type certifyProgress struct {
	to contract.Reporter
	of int

	mu     sync.Mutex
	bar    *terminal.Progress
	done   int
	failed int
}

// follow shows on a screen how far the suite has come.
func follow(to contract.Reporter, target contract.Target, screen *terminal.Screen) *certifyProgress {
	return &certifyProgress{to: to, of: contract.Trials(target), bar: terminal.NewProgress(screen, "cases")}
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
	p.bar.Set(p.done, p.of, note)
}

// End ends the line of the bar.
func (p *certifyProgress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bar.End()
}
