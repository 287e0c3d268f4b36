package deletionplan

import (
	"cmp"
	"maps"
	"slices"

	"portico/inventory"
)

// score counts answered calls, and how many of them succeeded.
type score struct{ calls, successes int }

// typeScores counts, for each type, how its calls fared while resources of each other type
// existed. If refusals name no reason, nothing else shows an order: if calls mostly
// fail while resources of another type exist, and hardly ever without them, that type
// goes first.
type typeScores struct {
	all       map[string]score
	alongside map[[2]string]score // type, and another type that existed

	present map[string]int // resources by type
	among   []string       // the types that have resources; nil: to be computed again
}

// leastRefusals is the number of refusals that count as a rule and not as chance.
const leastRefusals = 3

func newTally() typeScores {
	return typeScores{all: map[string]score{}, alongside: map[[2]string]score{}, present: map[string]int{}}
}

func (t *typeScores) count(typ string, by int) {
	before := t.present[typ]
	t.present[typ] += by
	if before == 0 || t.present[typ] == 0 {
		t.among = nil
	}
}

// typesPresent returns the types that have resources. The slice is not changed.
func (t *typeScores) typesPresent() []string {
	if t.among == nil {
		t.among = []string{}
		for typ, n := range t.present {
			if n > 0 {
				t.among = append(t.among, typ)
			}
		}
	}
	return t.among
}

// addCall counts the answer to a call for a type that was made while other types existed.
func (t *typeScores) addCall(typ string, others []string, success bool) {
	add := func(s score) score {
		s.calls++
		if success {
			s.successes++
		}
		return s
	}
	t.all[typ] = add(t.all[typ])
	for _, other := range others {
		if other != typ {
			t.alongside[[2]string{typ, other}] = add(t.alongside[[2]string{typ, other}])
		}
	}
}

// orders returns the orders that the counts show, the clearest first.
func (t *typeScores) orders() []inventory.TypeOrder {
	type finding struct {
		inventory.TypeOrder
		refusals int
	}
	var found []finding
	for pair, with := range t.alongside {
		all := t.all[pair[0]]
		without := score{all.calls - with.calls, all.successes - with.successes}
		refusals := with.calls - with.successes
		if refusals >= leastRefusals && 2*with.successes <= with.calls && without.calls > 0 && 10*without.successes >= 9*without.calls {
			found = append(found, finding{inventory.TypeOrder{Before: pair[1], After: pair[0]}, refusals})
		}
	}
	slices.SortFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(b.refusals, a.refusals), cmp.Compare(a.Before, b.Before), cmp.Compare(a.After, b.After))
	})
	orders := make([]inventory.TypeOrder, len(found))
	for i, f := range found {
		orders[i] = f.TypeOrder
	}
	return orders
}

// Conclude learns orders from the whole deletion when it is over.
func (p *Queue) Conclude() {
	for _, o := range p.tally.orders() {
		p.learn(o)
	}
	maps.DeleteFunc(p.tally.alongside, func([2]string, score) bool { return true })
}
