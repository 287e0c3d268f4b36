package meter

import (
	"net/http"
	"strconv"

	dto "github.com/prometheus/client_model/go"

	"portico/arm"
)

var codes = func() (all [600]string) {
	for status := range all {
		if http.StatusText(status) != "" {
			all[status] = strconv.Itoa(status)
		}
	}
	all[arm.StatusClientClosed] = strconv.Itoa(arm.StatusClientClosed) // is no error like others
	return all
}()

// Code is the label for a status: itself where the standard has it, or where the
// client went away, else its class, such as 4xx.
func Code(status int) string {
	switch {
	case status < 100 || status >= len(codes):
		return "other"
	case codes[status] == "":
		return strconv.Itoa(status/100) + "xx"
	}
	return codes[status]
}

// Label is the value of a label of a metric that was gathered, "" where it has none.
func Label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
