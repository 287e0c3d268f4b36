package operations

// A kind of work is made for one configuration. The one that takes its place
// under the next configuration goes on with its metrics, and with what bounds
// the calls under way; attempts that were begun end as they began.

// Succeed completes a Sweeping that takes the place of s.
func (s *Sweeping) Succeed(next *Sweeping) *Sweeping { return next.with(s.metrics) }

// Succeed completes a GroupDeletion that takes the place of k.
func (k *GroupDeletion) Succeed(next GroupDeletion) *GroupDeletion {
	next.metrics, next.slots = k.metrics, k.slots
	if next.PerEndpoint != k.PerEndpoint || next.AtEndpoint != k.AtEndpoint {
		next.slots = newEndpointSlots(next.AtEndpoint, next.PerEndpoint)
	}
	return &next
}

// Succeed completes a Moving that takes the place of k.
func (k *Moving) Succeed(next Moving) *Moving {
	next.metrics = k.metrics
	return &next
}

// Succeed completes a Following that takes the place of f.
func (f *Following) Succeed(next Following) *Following {
	next.overLimit = f.overLimit
	return &next
}

// Succeed completes a Fencing that takes the place of f.
func (f *Fencing) Succeed(next Fencing) *Fencing {
	next.standing, next.overLimit = f.standing, f.overLimit
	return &next
}

// Succeed completes a Noticing that takes the place of k.
func (k *Noticing) Succeed(next Noticing) *Noticing {
	next.slots = k.slots
	return &next
}
