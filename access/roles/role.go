// Package roles decides which actions role assignments allow, like Azure's role-based
// access control: a [Definition] lists the actions that its role allows, a [Grant] gives
// a role to a caller at a scope, and everything below the scope inherits it.
//
// The decisions are pure and do not allocate. Package inventory stores the assignments,
// and package routing knows the action of a request.
//
// Data actions are stored and shown, but not checked: they concern interfaces of
// providers outside the resource manager.
package roles

import "portico/arm"

// Role is a compiled [Definition]. It never changes.
type Role struct {
	id, name    string
	builtIn     bool
	permissions []permission
}

// permission holds folded patterns.
type permission struct{ allowed, excluded []string }

// Compile compiles a definition.
func Compile(d Definition) *Role {
	r := &Role{id: arm.Fold(d.ID), name: d.Name, builtIn: d.BuiltIn}
	for _, p := range d.Permissions {
		r.permissions = append(r.permissions, permission{folded(p.Actions), folded(p.NotActions)})
	}
	return r
}

func folded(patterns []string) []string {
	all := make([]string, len(patterns))
	for i, p := range patterns {
		all[i] = arm.Fold(p)
	}
	return all
}

// ID returns the folded id of the definition.
func (r *Role) ID() string { return r.id }

// Name returns the name of the definition.
func (r *Role) Name() string { return r.name }

// Allows reports whether the role allows an action, in any casing.
func (r *Role) Allows(action string) bool {
	for _, p := range r.permissions {
		if anyMatches(p.allowed, action) && !anyMatches(p.excluded, action) {
			return true
		}
	}
	return false
}

func anyMatches(patterns []string, action string) bool {
	for _, p := range patterns {
		if matches(p, action) {
			return true
		}
	}
	return false
}

// matches reports whether an action matches a folded pattern, in which each
// "*" stands for any, possibly empty, run of characters. Characters beyond
// ASCII match as they are written: no action has any.
func matches(pattern, action string) bool {
	if pattern == "*" {
		return true
	}
	p, a := 0, 0
	star, from := -1, 0 // the last "*", and the end of its match
	for a < len(action) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, a
			p++
		case p < len(pattern) && pattern[p] == lower(action[a]):
			p++
			a++
		case star >= 0:
			from++
			p, a = star+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// Size returns the approximate size of the role in bytes.
func (r *Role) Size() int {
	n := 64
	for _, p := range r.permissions {
		for _, pattern := range p.allowed {
			n += 16 + len(pattern)
		}
		for _, pattern := range p.excluded {
			n += 16 + len(pattern)
		}
	}
	return n
}
