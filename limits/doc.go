// Package limits bounds what one busy or failing endpoint can do to the rest:
// how many calls are under way to it, how many of them are repetitions, and how
// much memory answers and contents take that are held. It holds no clocks, and what
// [Each] starts has ended when it returns: whoever asks says what time it is.
package limits
