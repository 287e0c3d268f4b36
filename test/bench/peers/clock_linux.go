package peers

import (
	"syscall"
	"time"
	"unsafe"
)

// processClock is the processor time of all threads of a process, of those that have
// ended too, by the clock that the kernel keeps for it: /proc/PID/stat rounds it to
// hundredths of a second.
func processClock(pid int) (time.Duration, error) {
	const schedulerTime = 2 // of all that a process's clocks count
	clock := uintptr(^pid<<3 | schedulerTime)
	var now syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&now)), 0); errno != 0 {
		return 0, errno
	}
	return time.Duration(now.Nano()), nil
}
