package limits

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"portico/arm"
)

// Limits of the memory for buckets, of callers and of subscriptions each. A caller that is evicted
// gets full buckets, as it would after some time without requests.
const (
	shards   = 64
	perShard = 512
)

// BucketLevels are the levels of all buckets. They survive a change of the configuration.
type BucketLevels struct {
	started       time.Time // the zero of bucket times
	seed          maphash.Seed
	callers       table
	subscriptions table
}

// NewBucketLevels returns levels with all buckets full.
func NewBucketLevels(now time.Time) *BucketLevels {
	l := &BucketLevels{started: now, seed: maphash.MakeSeed()}
	l.callers.init()
	l.subscriptions.init()
	return l
}

// table stores buckets. All buckets of an owner are in one shard, so an owner with many buckets
// evicts buckets of few others.
type table [shards]shard

type shard struct {
	mu      sync.Mutex
	buckets *simplelru.LRU[key, *buckets]
	_       [40]byte // puts each lock on its own cache line
}

// key identifies buckets by hashes that clients cannot predict.
type key struct{ owner, scope uint64 }

// buckets are an owner's buckets in one scope.
type buckets struct {
	byKind [RequestKinds]bucket
	// disowned means that the scope turned out not to exist for the owner. The levels are kept,
	// because otherwise a caller could cause this to get full buckets.
	disowned bool
}

func (t *table) init() {
	for i := range t {
		var err error
		if t[i].buckets, err = simplelru.NewLRU[key, *buckets](perShard, nil); err != nil {
			panic(err) // only for a size below 1
		}
	}
}

func (t *table) shard(k key) *shard { return &t[k.owner%shards] }

// bucketsOf returns the buckets of a key, and creates them if necessary. The caller must hold s.mu.
func (s *shard) bucketsOf(k key) *buckets {
	if known, ok := s.buckets.Get(k); ok {
		return known
	}
	fresh := &buckets{}
	s.buckets.Add(k, fresh)
	return fresh
}

// hasBuckets reports whether there are buckets of a key that are not disowned. The caller must hold
// s.mu.
func (s *shard) hasBuckets(k key) bool {
	known, ok := s.buckets.Peek(k)
	return ok && !known.disowned
}

// disown marks the buckets of a key as disowned.
func (t *table) disown(k key) {
	s := t.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bucketsOf(k).disowned = true
}

// keys returns the keys of a caller at its tenant and in a subscription, and the subscription's
// own. It does not allocate.
func (l *BucketLevels) keys(caller, subscription string) (tenantKey, callerKey, subscriptionKey key) {
	tenantKey.owner = maphash.String(l.seed, caller)
	if subscription == "" {
		return tenantKey, callerKey, subscriptionKey
	}
	var buffer [64]byte
	subscriptionKey.owner = maphash.Bytes(l.seed, arm.AppendFold(buffer[:0], subscription))
	return tenantKey, key{tenantKey.owner, subscriptionKey.owner}, subscriptionKey
}
