// Package limits bounds what one busy or failing endpoint can do to the rest:
// how many calls are under way to it, and how many of them are repetitions.
// It holds no clocks and starts nothing: whoever asks says what time it is.
package limits
