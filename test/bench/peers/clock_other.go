//go:build !linux

package peers

import (
	"errors"
	"time"
)

// processClock is known on Linux alone.
func processClock(int) (time.Duration, error) { return 0, errors.ErrUnsupported }
