package storetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/memory"
)

// remembers asserts what a store says of its subscription, and from where.
func (b *bench) remembers(tenant string, remembered bool) {
	b.Helper()
	got, cached, err := b.Scopes.Subscription(b.ctx, strings.ToUpper(Sub), b.clock.Now())
	b.ok(err)
	if got.TenantID != tenant || cached != remembered {
		b.Errorf("tenant %q, remembered %t; want %q, %t", got.TenantID, cached, tenant, remembered)
	}
}

func (b *bench) tenant(name string) {
	b.Helper()
	_, _, err := b.PutSubscription(b.ctx, inventory.Subscription{ID: Sub, TenantID: name})
	b.ok(err)
}

func testScopesRemembered(t *testing.T, database Database) {
	t.Run("R11 an own change is known at once", func(t *testing.T) {
		b := newBench(t, database)
		b.remembers("t", false)
		b.remembers("t", true)
		b.tenant("u")
		b.remembers("u", false)
	})
	t.Run("R11 the change of another replica is known after the next question, or after the bound", func(t *testing.T) {
		pair := newPair(t, database)
		a, b := pair[0], pair[1]
		a.remembers("t", false)
		a.remembers("t", true)
		b.tenant("u")
		a.ok(a.Scopes.Ask(a.ctx))
		a.remembers("u", false)
		a.remembers("u", true)
		b.tenant("v")
		a.clock.Pass(memory.Bound + time.Millisecond)
		a.remembers("v", false)
	})
	t.Run("R11 memory holds no no", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		group := func(remembered bool) inventory.Group {
			b.Helper()
			got, cached, err := b.Scopes.Group(b.ctx, Sub, "RG", b.clock.Now())
			b.ok(err)
			equal(b, cached, remembered)
			return got
		}
		group(false)
		equal(b, group(true).Key, "rg")
		b.marks("rg")
		for range 2 {
			equal(b, group(false).State, index.GroupDeleting)
			_, cached, err := b.Scopes.Group(b.ctx, Sub, "none", b.clock.Now())
			b.is(err, inventory.ErrNotFound)
			equal(b, cached, false)
			registration, cached, err := b.Scopes.Registration(b.ctx, Sub, "contoso", b.clock.Now())
			b.ok(err)
			equal(b, registration.State, inventory.NotRegistered)
			equal(b, cached, false)
		}
	})
	t.Run("R11 replicas answer as the store did within the bound", func(t *testing.T) {
		pair := newPair(t, database)
		n := 0
		rapid.Check(t, func(rt *rapid.T) {
			n++
			newReplicas(rt, pair, fmt.Sprintf("00000000-0000-0000-0001-%012d", n)).run()
		})
	})
}

// replicas are two stores over one database, beside a plain model: all that the
// database has held, with the time until which it held that.
type replicas struct {
	*rapid.T
	pair    [2]*bench
	sub     string
	tenants [2]string
	past    []held
	floor   [2]int // what a replica changed itself, or asked for, it knows
	grants  grantsHeld
	granted [2]int // floor of the grants, which also change with the tenant
}

// held is what the database holds of a subscription, in words.
type held struct {
	facts map[string]string
	until time.Time // zero: it still does
}

const (
	groupsHeld    = 2
	namespaceHeld = "contoso.compute"
)

func newReplicas(t *rapid.T, pair [2]*bench, sub string) *replicas {
	tenants := [2]string{"t" + sub, "u" + sub}
	pair[0].ok(pair[0].SeedSubscriptions(pair[0].ctx, []inventory.Subscription{{ID: sub, TenantID: tenants[0]}}))
	return &replicas{T: t, pair: pair, sub: sub, tenants: tenants, past: []held{{facts: map[string]string{"subscription": tenants[0] + " Enabled"}}}}
}

// enabled is what the database holds of a subscription that takes everything.
func (r *replicas) enabled() string { return r.tenants[0] + " Enabled" }

func (r *replicas) now() time.Time { return r.pair[0].clock.Now() }

// pass moves both clocks on.
func (r *replicas) pass(by time.Duration) {
	for _, b := range r.pair {
		b.clock.Pass(by)
	}
}

// changed enters what replica i has changed, unless it was like that.
func (r *replicas) changed(i int, fact, value string) {
	if r.enter(fact, value) {
		r.floor[i] = len(r.past) - 1
	}
}

// changedOfTenant is changed for what belongs to the tenant: the replica need not know
// the subscription better for that.
func (r *replicas) changedOfTenant(i int) {
	if r.enter("grants", r.grants.String()) {
		r.granted[i] = len(r.past) - 1
	}
}

func (r *replicas) enter(fact, value string) bool {
	if r.past[len(r.past)-1].facts[fact] == value {
		return false
	}
	facts := maps.Clone(r.past[len(r.past)-1].facts)
	if facts[fact] = value; value == "" {
		delete(facts, fact)
	}
	r.past[len(r.past)-1].until = r.now()
	r.past = append(r.past, held{facts: facts})
	return true
}

// judge holds an answer of replica i against the model.
func (r *replicas) judge(i int, fact, got string, remembered bool) {
	r.Helper()
	var allowed []string
	floor := r.floor[i]
	if fact == "grants" {
		floor = max(floor, r.granted[i])
	}
	for version, h := range r.past {
		latest := version == len(r.past)-1
		if latest || remembered && version >= floor && r.now().Sub(h.until) <= memory.Bound {
			allowed = append(allowed, h.facts[fact])
		}
	}
	if !slices.Contains(allowed, got) {
		r.Errorf("replica %d says of %s %q (remembered: %t), want one of %q", i, fact, got, remembered, allowed)
	}
}

func (r *replicas) run() {
	which := rapid.IntRange(0, len(r.pair)-1)
	groups := rapid.IntRange(0, groupsHeld-1)
	r.Repeat(map[string]func(*rapid.T){
		"role is assigned": func(t *rapid.T) {
			r.assigns(t, which.Draw(t, "replica"), rapid.IntRange(0, len(r.grants.at)-1).Draw(t, "where"))
		},
		"role is taken away": func(t *rapid.T) {
			r.unassigns(t, which.Draw(t, "replica"), rapid.IntRange(0, len(r.grants.at)-1).Draw(t, "where"))
		},
		"role is defined": func(t *rapid.T) {
			r.defines(t, which.Draw(t, "replica"), rapid.SampledFrom([]string{"a/read", "a/write"}).Draw(t, "action"))
		},
		"ask": func(t *rapid.T) {
			i := which.Draw(t, "replica")
			if err := r.pair[i].Scopes.Ask(r.pair[i].ctx); err != nil {
				t.Fatal(err)
			}
			r.floor[i] = len(r.past) - 1
		},
		"time passes": func(t *rapid.T) { r.pass(time.Duration(rapid.IntRange(1, 3000).Draw(t, "ms")) * time.Millisecond) },
		"nobody asks for a while": func(t *rapid.T) {
			r.pass(time.Duration(rapid.IntRange(1, 120).Draw(t, "seconds")) * time.Second)
		},
		"subscription changes": func(t *rapid.T) {
			i, tenant := which.Draw(t, "replica"), rapid.SampledFrom(r.tenants[:]).Draw(t, "tenant")
			state := rapid.SampledFrom([]inventory.SubscriptionState{inventory.Enabled, inventory.Warned}).Draw(t, "state")
			if _, _, err := r.pair[i].PutSubscription(r.pair[i].ctx, inventory.Subscription{ID: r.sub, TenantID: tenant, State: state}); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(r.past[len(r.past)-1].facts["subscription"], tenant) {
				r.grants.at[atSubscription], r.grants.at[atGroup] = false, false
			}
			r.changed(i, "subscription", tenant+" "+state.String())
			r.changed(i, "grants", r.grants.String())
		},
		"group is put": func(t *rapid.T) {
			i, name := which.Draw(t, "replica"), fmt.Sprintf("group-%d", groups.Draw(t, "group"))
			location := rapid.SampledFrom([]string{"westus", "eastus"}).Draw(t, "location")
			_, _, err := r.pair[i].EditGroup(r.pair[i].ctx, r.sub, name, func(g *inventory.Group) (*inventory.Group, error) {
				return &inventory.Group{Name: name, Location: location}, nil
			})
			r.entered(t, i, err, name, location)
		},
		"group is deleted": func(t *rapid.T) {
			i, name := which.Draw(t, "replica"), fmt.Sprintf("group-%d", groups.Draw(t, "group"))
			err := r.pair[i].DeleteGroup(r.pair[i].ctx, r.sub, name, inventory.DeleteGroupConditions{})
			r.entered(t, i, err, name, "")
			if err == nil && name == "group-0" {
				r.grants.at[atGroup] = false
				r.changed(i, "grants", r.grants.String())
			}
		},
		"namespace is registered": func(t *rapid.T) {
			i := which.Draw(t, "replica")
			_, err := r.pair[i].Register(r.pair[i].ctx, inventory.RegistrationChange{Subscription: r.sub, Namespace: namespaceHeld})
			r.entered(t, i, err, namespaceHeld, "registered")
		},
		"namespace is unregistered": func(t *rapid.T) {
			i := which.Draw(t, "replica")
			_, err := r.pair[i].Unregister(r.pair[i].ctx, inventory.RegistrationChange{Subscription: r.sub, Namespace: namespaceHeld})
			if r.past[len(r.past)-1].facts[namespaceHeld] != "" || err != nil {
				r.entered(t, i, err, namespaceHeld, "")
			}
		},
		"": func(t *rapid.T) {
			for i, b := range r.pair {
				s, remembered, err := b.Scopes.Subscription(b.ctx, r.sub, r.now())
				if err != nil {
					t.Fatal(err)
				}
				r.judge(i, "subscription", s.TenantID+" "+s.State.String(), remembered)
				granted, remembered, err := b.Scopes.GrantsAt(b.ctx, r.tenants[0], r.sub, asAlice, "/", r.now())
				if err != nil {
					t.Fatal(err)
				}
				r.judge(i, "grants", r.shown(granted.Grants), remembered)
				for n := range groupsHeld {
					name := fmt.Sprintf("group-%d", n)
					g, remembered, err := b.Scopes.Group(b.ctx, r.sub, name, r.now())
					if err != nil && remembered {
						t.Errorf("%v from memory", err)
					}
					r.judge(i, name, g.Location, remembered)
				}
				registration, remembered, err := b.Scopes.Registration(b.ctx, r.sub, namespaceHeld, r.now())
				if err != nil {
					t.Fatal(err)
				}
				state := ""
				if registration.State.Permits() {
					state = "registered"
				}
				r.judge(i, namespaceHeld, state, remembered)
			}
		},
	})
}

// entered enters a change of replica i that the subscription's state may have refused,
// or that found nothing.
func (r *replicas) entered(t *rapid.T, i int, err error, fact, value string) {
	if err == nil {
		r.changed(i, fact, value)
		return
	}
	if r.past[len(r.past)-1].facts["subscription"] == r.enabled() && value != "" {
		t.Fatal(err)
	}
}
