package deployplan

import (
	"portico/inventory"
	deletion "portico/jobs/deletion/deletionplan"
)

// Removes reports whether the deployment now has to delete what its template lacks: it is in
// complete mode, and each of its steps has succeeded. Remove then says what that is.
func (p *Graph) Removes() bool {
	end, over := p.stepsOver()
	return p.Complete && p.removal == nil && over && end == Succeeded
}

// Remove begins the deletions, of which the caller adds the members. The plan of a group's
// deletion decides their order, and what the refusal of one means for the others.
func (p *Graph) Remove(known []inventory.TypeOrder) {
	p.removal = deletion.New(deletion.Limits{
		PerEndpoint: p.limits.PerEndpoint, PerJob: p.limits.PerDeployment, Budget: p.limits.Budget, Pause: p.limits.Pause, Longest: deletion.LongestWait,
	}, known)
	if p.Canceled {
		p.removal.Stop()
	}
}

// Removal is the plan of the deletions, for their outcomes; nil before Remove.
func (p *Graph) Removal() *deletion.Queue { return p.removal }

// removalOver is Over of the deletions.
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
