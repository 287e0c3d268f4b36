// Package limits bounds what one busy or failing endpoint, and one greedy caller,
// can do to the rest: how many calls are under way to an endpoint, how many of them
// are repetitions, and how much memory answers and contents take that are held.
//
// What callers share, [Memory] and [Concurrency], has a largest share for each of
// them, so that one who takes all that they can leaves room for the others. Callers
// that wait are served in turn, one wait of each, however many waits each has. A
// caller is whatever name the user of this package tells callers apart by; nothing is
// kept of a caller that neither holds nor waits.
//
// The package holds no clocks, and what [Each] starts has ended when it returns:
// whoever asks says what time it is.
package limits
