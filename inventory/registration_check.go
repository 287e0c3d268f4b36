package inventory

// admittedByRegistration checks that the write's namespace, if it needs one, is
// registered. The group's row is locked, and the end of a registration locks those of
// all groups first.
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
