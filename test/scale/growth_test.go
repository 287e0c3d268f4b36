package scale

import (
	"fmt"
	"math"
	"testing"

	"portico/test/evidence"
)

// growth is by what the least figure is multiplied with each decade, over all that were
// measured. The least is what other work on the machine disturbed least.
type growth struct {
	factor float64
	last   float64
	power  int // of the last
}

// growthOf is the growth over several powers.
func growthOf(figures []evidence.Spread, powers []int) growth {
	last, power := figures[len(figures)-1].Least, powers[len(powers)-1]
	return growth{math.Pow(last/figures[0].Least, 1/float64(power-powers[0])), last, power}
}

// at is what the figure comes to at a power if it goes on like that. One that became less
// is taken to stay as it was at last.
func (g growth) at(power int) string {
	return evidence.Short(g.last * math.Pow(max(g.factor, 1), float64(power-g.power)))
}

// tolerated is by what a figure may grow with each decade beyond its answer: caches hold a
// smaller share of a larger store, which an answer meets once. What walks over all rows
// grows by 10.
const tolerated = 3

// check refuses what grew faster than its answer.
func (g growth) check(q quantity) error {
	if most := max(q.grows, 1) * tolerated; g.factor > most {
		return fmt.Errorf("%s: multiplied by %s with each decade, more than by %s", q.name, evidence.Short(g.factor), evidence.Short(most))
	}
	return nil
}

func TestWhatGrowsFasterThanItsAnswerIsRefused(t *testing.T) {
	t.Parallel()
	powers := []int{4, 5, 6}
	flat := []evidence.Spread{{Least: 0.1}, {Least: 0.2}, {Least: 0.5}}
	walks := []evidence.Spread{{Least: 0.1}, {Least: 0.6}, {Least: 5.1}}
	for _, c := range []struct {
		figures []evidence.Spread
		grows   float64
		refused bool
	}{{flat, 0, false}, {walks, 0, true}, {walks, 10, false}} {
		if err := growthOf(c.figures, powers).check(quantity{name: "it", grows: c.grows}); (err != nil) != c.refused {
			t.Errorf("%v where it may grow by %g: %v", c.figures, c.grows, err)
		}
	}
	if at := growthOf(walks, powers).at(7); at != "36.4" {
		t.Error(at)
	}
	if at := growthOf([]evidence.Spread{{Least: 2}, {Least: 1}}, []int{5, 6}).at(9); at != "1.00" {
		t.Error(at)
	}
}
