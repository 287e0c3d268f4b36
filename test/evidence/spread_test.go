package evidence

import (
	"math"
	"testing"
)

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		figures []float64
		want    string
	}{
		{nil, "–"},
		{[]float64{2}, "2.00–**2.00**–2.00"},
		{[]float64{3, 1, 2}, "1.00–**2.00**–3.00"},
		{[]float64{4, 1, 3, 2}, "1.00–**2.50**–4.00"},
		{[]float64{1234.5, 0.0123, 45.67}, "0.012–**45.7**–1234"},
		{[]float64{-0.5, 0, math.NaN()}, "NaN–**−0.500**–0"},
	} {
		if got := SpreadOf(c.figures).String(); got != c.want {
			t.Errorf("%v: %s, want %s", c.figures, got, c.want)
		}
	}
}
