package contract

// words name the callers for people.
var words = map[Caller]string{
	Owner: "the caller", Colleague: "another caller of the tenant", Stranger: "a caller of another tenant",
	Passport: "a caller with a puid alone", OtherPassport: "another caller with a puid alone",
}

// InTenant makes all callers but the stranger those of a tenant. Only without a front door,
// which knows them by their tokens.
func (a *Adapter) InTenant(id string) {
	for caller, identity := range a.identities {
		if caller != Stranger {
			identity.TenantID = id
			a.identities[caller] = identity
		}
	}
}

// needs leaves the case out if there is no such caller. A front door without
// authentication has one caller, without a token.
func (s *Scene) needs(caller Caller) {
	if s.Adapter.Through && caller != Owner && s.Adapter.tokens[caller] == "" {
		s.leave("there is no token of " + words[caller])
	}
}

// named returns the caller's name in systemData; without one it leaves the case out.
func (s *Scene) named(caller Caller) string {
	s.needs(caller)
	name := s.Adapter.identities[caller].Name
	if name == "" {
		s.leave("the name of " + words[caller] + " is not given")
	}
	return name
}
