package upstream

// Condition is the condition of an address, an endpoint or a region.
type Condition uint8

// The conditions. An endpoint or a region is Down if every call of it is
// refused, except trials whether an address is reachable again; an address is
// Down if others are called instead.
const (
	Unknown Condition = iota
	Up
	Degraded
	Down
)

var conditions = [...]string{"unknown", "up", "degraded", "down"}

func (c Condition) String() string { return conditions[c] }

// Overall combines conditions, such as a region's from its endpoints: Down if all are,
// Degraded if some are not up or only partly, Unknown if all are unknown.
func Overall(parts []Condition) Condition {
	var counts [len(conditions)]int
	for _, part := range parts {
		counts[part]++
	}
	switch {
	case counts[Unknown] == len(parts):
		return Unknown
	case counts[Down] == len(parts):
		return Down
	case counts[Down]+counts[Degraded] > 0:
		return Degraded
	}
	return Up
}
