package inventory

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
