package contract

// callerNames name the callers for people.
var callerNames = map[Caller]string{
	Owner: "the caller", Colleague: "another caller of the tenant", Stranger: "a caller of another tenant",
	Passport: "a caller with only a puid", OtherPassport: "another caller with only a puid",
}

// InTenant sets the tenant of all callers but the stranger. It has no effect
// through a front door, which knows callers by their tokens.
func (a *Adapter) InTenant(id string) {
	for caller, identity := range a.identities {
		if caller != Stranger {
			identity.TenantID = id
			a.identities[caller] = identity
		}
	}
}

// needs leaves the case out if the caller does not exist. A front door
// without authentication has one caller, without a token.
func (s *Scene) needs(caller Caller) {
	if s.Adapter.Through && caller != Owner && s.Adapter.tokens[caller] == "" {
		s.leaveOut("there is no token of " + callerNames[caller])
	}
}

// callerName returns the caller's name in systemData. It leaves the case out if no
// name is given.
func (s *Scene) callerName(caller Caller) string {
	s.needs(caller)
	name := s.Adapter.identities[caller].Name
	if name == "" {
		s.leaveOut("the name of " + callerNames[caller] + " is not given")
	}
	return name
}
