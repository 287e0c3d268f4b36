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
	all[arm.StatusClientClosed] = strconv.Itoa(arm.StatusClientClosed) // not a standard status
	return all
}()

// Code returns the label for a status: the status itself if it is a standard
// one or the client left, else its class, such as 4xx.
func Code(status int) string {
	switch {
	case status < 100 || status >= len(codes):
		return "other"
	case codes[status] == "":
		return strconv.Itoa(status/100) + "xx"
	}
	return codes[status]
}

// Label returns the value of a label of a gathered metric, "" if it has none.
func Label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
