package deployplan

import (
	"portico/inventory"
	deletion "portico/jobs/deletion/deletionplan"
)

// Removes reports whether the deployment now has to delete the resources that are not in its
// template: it is in complete mode, and every step has succeeded. Call Remove then.
func (p *Graph) Removes() bool {
	end, over := p.stepsOver()
	return p.Complete && p.removal == nil && over && end == Succeeded
}

// Remove begins the deletions. The caller adds the resources to the Removal. known is the order
// of types that earlier deletions have learnt.
func (p *Graph) Remove(known []inventory.TypeOrder) {
	p.removal = deletion.New(deletion.Limits{
		PerEndpoint: p.limits.PerEndpoint, PerJob: p.limits.PerDeployment, Budget: p.limits.Budget, Pause: p.limits.Pause, Longest: deletion.LongestWait,
	}, known)
	if p.Canceled {
		p.removal.Stop()
	}
}

// Removal returns the queue of the deletions; nil before Remove.
func (p *Graph) Removal() *deletion.Queue { return p.removal }

// removalOver reports whether the deletions are over, and how they ended.
func (p *Graph) removalOver() (end State, over bool) {
	switch ended := p.removal.End(); {
	case p.removal.In(deletion.InFlight)+p.removal.In(deletion.Accepted) > 0:
		return Waiting, false
	case p.Canceled:
		return Canceled, true
	case ended == deletion.EndEmpty:
		return Succeeded, true
	case ended == deletion.EndBlocked:
		return Failed, true
	}
	return Waiting, false
}
