package limits

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"portico/arm"
)

// The bounds of what is remembered, of callers and of subscriptions each. Whoever is
// forgotten has full buckets, as after some time without requests.
const (
	shards   = 64
	perShard = 512
)

// BucketLevels are the levels of all buckets. They outlive configurations.
type BucketLevels struct {
	started       time.Time // times count from it
	seed          maphash.Seed
	callers       table
	subscriptions table
}

// NewBucketLevels returns levels that are all full.
func NewBucketLevels(now time.Time) *BucketLevels {
	l := &BucketLevels{started: now, seed: maphash.MakeSeed()}
	l.callers.init()
	l.subscriptions.init()
	return l
}

// table holds buckets. All of one owner lie in one shard, so that an owner pushes out
// those of few others, however many it uses.
type table [shards]shard

type shard struct {
	mu      sync.Mutex
	buckets *simplelru.LRU[key, *buckets]
	_       [40]byte // a cache line for each lock
}

// key tells buckets apart, by hashes that no client can foresee.
type key struct{ owner, place uint64 }

// buckets are those of one owner in one place.
type buckets struct {
	of [RequestKinds]bucket
	// disowned: the place turned out not to exist for the owner. What is missing stays
	// missing, else whoever can cause that would have full buckets again.
	disowned bool
}

func (t *table) init() {
	for i := range t {
		var err error
		if t[i].buckets, err = simplelru.NewLRU[key, *buckets](perShard, nil); err != nil {
			panic(err) // of a size below 1 alone
		}
	}
}

func (t *table) shard(k key) *shard { return &t[k.owner%shards] }

// of returns the buckets of a key, which are made if they are not there. The lock is held.
func (s *shard) of(k key) *buckets {
	if known, ok := s.buckets.Get(k); ok {
		return known
	}
	fresh := &buckets{}
	s.buckets.Add(k, fresh)
	return fresh
}

// knows reports whether there are buckets of a key, which are not disowned. The lock is
// held.
func (s *shard) knows(k key) bool {
	known, ok := s.buckets.Peek(k)
	return ok && !known.disowned
}

// disown marks the buckets of a key.
func (t *table) disown(k key) {
	s := t.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(k).disowned = true
}

// keys returns the keys of a caller at its tenant and in a subscription, and that of the
// subscription. It allocates nothing.
func (l *BucketLevels) keys(caller, subscription string) (atTenant, within, whole key) {
	atTenant.owner = maphash.String(l.seed, caller)
	if subscription == "" {
		return atTenant, within, whole
	}
	var buffer [64]byte
	whole.owner = maphash.Bytes(l.seed, arm.AppendFold(buffer[:0], subscription))
	return atTenant, key{atTenant.owner, whole.owner}, whole
}
