package inventory

// What a write or the end of a group is judged by, apart from the statements
// that fetch it: both are decided while the group's row is locked, so that
// neither sees a group that the other is just changing.

// admittedBy judges a write by the group that it goes into, nil where there is
// none: an Active group takes clients' writes, a Deleting one those of its own
// delete, and both only those that are meant for this incarnation.
func (w *Write) admittedBy(group *Group) error {
	takes := GroupActive
	if w.OfGroupDelete {
		takes = GroupDeleting
	}
	switch {
	case group == nil || w.Incarnation != [16]byte{} && w.Incarnation != group.Incarnation:
		return ErrGroupNotFound
	case group.State != takes:
		return &GroupStateError{State: group.State}
	}
	return nil
}

// mayGiveBack tells whether a group whose delete has come to nothing takes
// writes again, while so many calls into it are open. None may be: one of the
// delete's own that landed later could hit what was made meanwhile (R8).
func mayGiveBack(open int) bool { return open == 0 }

// admittedByRegistration judges a write by the registration of its namespace,
// where that needs one. The group's row is locked, and whoever ends a
// registration locks those of all groups first.
func (w *Write) admittedByRegistration(t *tx) error {
	if w.Namespace == "" || w.OfGroupDelete {
		return nil
	}
	state, err := t.registration(w.Subscription, w.Namespace)
	if err == nil && !state.Permits() {
		return &RegistrationStateError{Namespace: w.Namespace, State: state}
	}
	return err
}

// mayClose tells whether a group of which this is left may go. Neither a row nor
// a call that may still be running, whoever makes it, may outlive it. What is only
// of unknown fate leaves a fence.
func mayClose(left *GroupNotEmptyError) bool {
	return left.Total == 0 && left.Intents == 0 && len(left.Strays) == 0
}

// underWay counts the open writes whose call may still be running. All others are
// of unknown fate, and hold no group back.
func (s state) underWay(now int64) (n int) {
	for _, in := range s.open {
		if !in.over(now) {
			n++
		}
	}
	return n
}

// absent tells whether a row is of a resource that is not there: Portico's own GET
// said so of this generation, and no followed create can make it untrue.
func (s state) absent(generation [16]byte) bool {
	return s.row.generation == generation && !s.row.followPut
}
