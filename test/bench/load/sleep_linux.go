package load

import (
	"syscall"
	"time"
)

// sleepUntil sleeps in the kernel: the runtime's own timers are late by up to a
// millisecond where nothing else happens in the process. Signals, of which the runtime
// sends itself some, cut a sleep short.
func sleepUntil(at time.Time) {
	for left := time.Until(at); left > 0; left = time.Until(at) {
		pause := syscall.NsecToTimespec(left.Nanoseconds())
		_ = syscall.Nanosleep(&pause, nil)
	}
}
