package upstream

// Condition is how an address, an endpoint or a region does.
type Condition uint8

// The conditions. An endpoint or a region is Down if every call of it is refused, but those
// that try whether an address can be reached again; an address if others are called instead.
const (
	Unknown Condition = iota
	Up
	Degraded
	Down
)

var conditions = [...]string{"unknown", "up", "degraded", "down"}

func (c Condition) String() string { return conditions[c] }

// Overall returns the condition of what has parts, as a region has endpoints: Down if all are, Degraded if some are not
// up or not in full, Unknown if nothing is known of any.
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
