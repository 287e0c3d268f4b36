//go:build !linux

package peers

import (
	"errors"
	"time"
)

// processClock works on Linux only.
func processClock(int) (time.Duration, error) { return 0, errors.ErrUnsupported }
