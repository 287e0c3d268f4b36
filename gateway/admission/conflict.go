package admission

import (
	"time"

	"portico/arm"
)

// ConflictRetry is when a client may retry after a conflict that passes by itself.
const ConflictRetry = 10 * time.Second

// Busy is the error of a resource that somebody else is changing, or whose state its
// provider has yet to confirm.
func Busy(id string) *arm.Error {
	fault := arm.NewError(arm.Conflict).About(id)
	fault.RetryAfter = ConflictRetry
	return fault
}
