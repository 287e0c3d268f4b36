package polling

import (
	"net/http"
	"strconv"
	"time"

	"portico/internal/timing"
)

// retryAfterMs are headers with a pause in milliseconds: they are not in the contract,
// but clients prefer them to Retry-After.
var retryAfterMs = []string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"}

// maxRetryAfter is the longest pause in an answer that is not an operation's: quotas are
// counted by the hour.
const maxRetryAfter = time.Hour

// clampRetryAfter makes Retry-After an integer and removes other forms of it. For the
// answer of an operation it enforces the contract's bounds. An unreadable value is
// removed; a missing one stays missing.
func (f *Forwarded) clampRetryAfter(h http.Header, status int) {
	for _, name := range retryAfterMs {
		delete(h, name)
	}
	if len(h["Retry-After"]) == 0 {
		return
	}
	pause, ok := timing.RetryAfter(h, time.Now())
	if !ok {
		delete(h, "Retry-After")
		return
	}
	least, most := time.Duration(0), maxRetryAfter
	if status == http.StatusOK || status == http.StatusCreated || status == http.StatusAccepted {
		least, most = f.Settings.RetryAfterMin, f.Settings.RetryAfterMax
	}
	setRetryAfter(h, max(least, min(pause, most)))
}

// providerPause is the pause before a poll if the provider names none, within the
// configured bounds.
const providerPause = 15 * time.Second

// pollAgain sets Retry-After, unless the provider has.
func (f *Forwarded) pollAgain(h http.Header) {
	if len(h["Retry-After"]) == 0 {
		setRetryAfter(h, max(f.Settings.RetryAfterMin, min(providerPause, f.Settings.RetryAfterMax)))
	}
}

func setRetryAfter(h http.Header, pause time.Duration) {
	h["Retry-After"] = []string{strconv.FormatInt(int64(pause/time.Second), 10)}
}
