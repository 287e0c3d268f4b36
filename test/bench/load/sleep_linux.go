package load

import (
	"syscall"
	"time"
)

// sleepUntil sleeps in the kernel: the runtime's timers are late by up to a millisecond
// in an idle process. The runtime's own signals interrupt the sleep.
func sleepUntil(at time.Time) {
	for left := time.Until(at); left > 0; left = time.Until(at) {
		pause := syscall.NsecToTimespec(left.Nanoseconds())
		_ = syscall.Nanosleep(&pause, nil)
	}
}
