package upstream

import (
	"net/http"
	"strings"
)

// replayKeys are the headers that make net/http's transport consider a write safe to
// replay.
var replayKeys = []string{"Idempotency-Key", "X-Idempotency-Key"}

// hideReplayKeys respells these headers so that the transport does not recognise
// them; on the wire names are case-insensitive.
func hideReplayKeys(h http.Header) {
	for _, name := range replayKeys {
		if values, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = values
		}
	}
}
