package meter

import dto "github.com/prometheus/client_model/go"

// Label is the value of a label of a metric that was gathered, "" where it has none.
func Label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
