package limits

import (
	"math"
	"time"
)

// MaxThrottleWait is the longest time until an empty bucket has a token again, whatever its debt.
const MaxThrottleWait = time.Minute

// Rate is the capacity of a token bucket and its refill per second.
type Rate struct{ Bucket, PerSecond float64 }

// share returns one replica's share of a rate, but at least one token per MaxThrottleWait.
func (r Rate) share(n int) Rate {
	of := float64(max(n, 1))
	return Rate{max(r.Bucket/of, 1), max(r.PerSecond/of, 1/MaxThrottleWait.Seconds())}
}

// times returns the rate multiplied by factor.
func (r Rate) times(factor float64) Rate { return Rate{factor * r.Bucket, factor * r.PerSecond} }

// rounding is the maximum error of sums of fractions of a token.
const rounding = 1e-6

// bucket stores the number of missing tokens instead of the present ones, so that its zero value is
// full at any capacity. updated is the time of the latest request.
type bucket struct {
	missing float64
	updated time.Duration
}

// refill adds the tokens since the last update.
func (b *bucket) refill(r Rate, now time.Duration) {
	if passed := now - b.updated; passed > 0 {
		b.missing -= r.PerSecond * passed.Seconds()
		b.updated = now
	}
	b.missing = min(max(b.missing, 0), r.Bucket-1+r.PerSecond*MaxThrottleWait.Seconds())
}

// tokens returns the number of tokens, which is negative for a debt.
func (b *bucket) tokens(r Rate) float64 { return r.Bucket - b.missing + rounding }

// timeToToken returns the time until a token is available.
func (b *bucket) timeToToken(r Rate) time.Duration {
	lacks := 1 - b.tokens(r)
	if lacks <= 0 {
		return 0
	}
	return time.Duration(math.Ceil(lacks / r.PerSecond * float64(time.Second)))
}

// wholeTokens returns the number of tokens shown to clients.
func (b *bucket) wholeTokens(r Rate) int64 { return int64(max(b.tokens(r), 0)) }
