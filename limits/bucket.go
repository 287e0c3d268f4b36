package limits

import (
	"math"
	"time"
)

// MaxThrottleWait is the longest time until an empty bucket has a token again, whatever its debt.
const MaxThrottleWait = time.Minute

// Rate is how many tokens a bucket holds, and how many it gets back in a second.
type Rate struct{ Bucket, PerSecond float64 }

// share returns the part of a rate for one of n replicas: a token in MaxThrottleWait, at least.
func (r Rate) share(n int) Rate {
	of := float64(max(n, 1))
	return Rate{max(r.Bucket/of, 1), max(r.PerSecond/of, 1/MaxThrottleWait.Seconds())}
}

// times returns a rate that is larger by a factor.
func (r Rate) times(factor float64) Rate { return Rate{factor * r.Bucket, factor * r.PerSecond} }

// rounding is what sums of fractions of a token may lack.
const rounding = 1e-6

// bucket knows what is missing in it, so that its zero value is full, whatever it holds
// by the present settings. at is the time of the latest request.
type bucket struct {
	missing float64
	at      time.Duration
}

// refill brings a bucket to the present.
func (b *bucket) refill(r Rate, now time.Duration) {
	if passed := now - b.at; passed > 0 {
		b.missing -= r.PerSecond * passed.Seconds()
		b.at = now
	}
	b.missing = min(max(b.missing, 0), r.Bucket-1+r.PerSecond*MaxThrottleWait.Seconds())
}

// left returns the number of tokens, below 0 for a debt.
func (b *bucket) left(r Rate) float64 { return r.Bucket - b.missing + rounding }

// wait returns the time until there is a token.
func (b *bucket) wait(r Rate) time.Duration {
	lacks := 1 - b.left(r)
	if lacks <= 0 {
		return 0
	}
	return time.Duration(math.Ceil(lacks / r.PerSecond * float64(time.Second)))
}

// whole returns the number of whole tokens, for clients.
func (b *bucket) whole(r Rate) int64 { return int64(max(b.left(r), 0)) }
