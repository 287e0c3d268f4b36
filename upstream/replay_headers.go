package upstream

import (
	"net/http"
	"strings"
)

// replayKeys are the headers by which net/http's transport takes a write for
// safe to send again.
var replayKeys = []string{"Idempotency-Key", "X-Idempotency-Key"}

// hideReplayKeys spells the headers that would license a second attempt so that
// the transport does not know them; on the wire names match without case.
func hideReplayKeys(h http.Header) {
	for _, name := range replayKeys {
		if values, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = values
		}
	}
}
