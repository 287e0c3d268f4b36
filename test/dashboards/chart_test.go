package dashboards

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"time"

	"portico/test/harness"
)

// Sizes of a picture and its plot.
const (
	chartWidth, chartHeight            = 800, 250
	fieldLeft, fieldTop, fieldW, lineH = 60, 34, 680, 18
	fieldH                             = 150
)

var strokes = []string{"#3366cc", "#dc3912", "#109618", "#ff9900", "#990099", "#0099c6", "#666666"}

// chart draws the answer to a panel's query: curves over time, in the unit's own words,
// with a line for an event.
func chart(title string, series []harness.Series, legend func(harness.Series) string, unit func(float64) string, from, to, happened time.Time, what string) string {
	highest := 0.0
	for _, s := range series {
		for _, p := range s.Points {
			if !math.IsNaN(p.Value) {
				highest = max(highest, p.Value)
			}
		}
	}
	highest = max(highest, 1e-9) * 1.05
	x := func(at time.Time) float64 {
		return fieldLeft + fieldW*at.Sub(from).Seconds()/to.Sub(from).Seconds()
	}
	y := func(v float64) float64 { return fieldTop + fieldH*(1-v/highest) }

	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", chartWidth, chartHeight)
	fmt.Fprintf(&out, `<rect width="100%%" height="100%%" fill="white"/><text x="%d" y="20" font-size="14">%s</text>`+"\n", fieldLeft, html.EscapeString(title))
	for i := range 5 {
		v := highest * float64(i) / 4
		fmt.Fprintf(&out, `<path d="M%d %.1fh%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", fieldLeft, y(v), fieldW, fieldLeft-4, y(v)+4, unit(v))
	}
	for i := range 6 {
		at := from.Add(to.Sub(from) * time.Duration(i) / 5)
		fmt.Fprintf(&out, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x(at), fieldTop+fieldH+15, at.UTC().Format("15:04:05"))
	}
	fmt.Fprintf(&out, `<path d="M%.1f %dv%d" stroke="#000" stroke-dasharray="3 3"/><text x="%.1f" y="%d">%s</text>`+"\n",
		x(happened), fieldTop, fieldH, x(happened)+4, fieldTop+10, html.EscapeString(what))

	slices.SortFunc(series, func(a, b harness.Series) int { return strings.Compare(legend(a), legend(b)) })
	left := float64(fieldLeft)
	for i, s := range series {
		stroke := strokes[i%len(strokes)]
		var path strings.Builder
		move := true
		for _, p := range s.Points {
			if math.IsNaN(p.Value) {
				move = true
				continue
			}
			letter := "L"
			if move {
				letter, move = "M", false
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", letter, x(p.At), y(p.Value))
		}
		fmt.Fprintf(&out, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", path.String(), stroke)
		name := html.EscapeString(legend(s))
		fmt.Fprintf(&out, `<rect x="%.0f" y="%d" width="10" height="3" fill="%s"/><text x="%.0f" y="%d">%s</text>`+"\n",
			left, fieldTop+fieldH+34, stroke, left+14, fieldTop+fieldH+lineH+22, name)
		left += 34 + 6.2*float64(len(name))
	}
	out.WriteString("</svg>\n")
	return out.String()
}
