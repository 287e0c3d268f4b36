package meter

import (
	"net/http"
	"strconv"

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
