package grammar

import (
	"net/http"
	"strconv"
)

// ContentLength reads the length that a message declares: -1 where it declares none. The
// same one twice becomes one; ok is false for what is not one number.
func ContentLength(h http.Header) (n int64, ok bool) {
	sent := h["Content-Length"]
	if len(sent) == 0 {
		return -1, true
	}
	for _, other := range sent[1:] {
		if other != sent[0] {
			return 0, false
		}
	}
	if len(sent) > 1 {
		h["Content-Length"] = sent[:1]
	}
	if !IsDigits(sent[0]) {
		return 0, false
	}
	n, err := strconv.ParseInt(sent[0], 10, 64)
	return n, err == nil
}
