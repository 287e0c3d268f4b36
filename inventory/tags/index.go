package tags

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"portico/arm"
	"portico/inventory/transaction"
)

const (
	putTag = `INSERT INTO resource_tags (subscription, tag, resource, value) VALUES (?, ?, ?, ?)
		ON CONFLICT (subscription, tag, resource) DO UPDATE SET value = excluded.value`
	deleteTag = `DELETE FROM resource_tags WHERE subscription = ? AND tag = ? AND resource = ?`
)

// Update keeps the index of tags in step with a row whose tags change.
func Update(t *transaction.Tx, sub, key string, before, after map[string]string) error {
	old, fresh := digests(before), digests(after)
	for name := range old {
		if _, stays := fresh[name]; stays {
			continue
		}
		if err := t.Later(deleteTag, sub, name, key); err != nil {
			return err
		}
	}
	for name, value := range fresh {
		if had, is := old[name]; is && had == value {
			continue
		}
		if err := t.Later(putTag, sub, name, key, value); err != nil {
			return err
		}
	}
	return nil
}

// UnknownValue stands where a tag's value has to be read from the resource.
const UnknownValue = 0

// digests are the digests of tags' values, by the folded names of the tags.
func digests(tags map[string]string) map[string]int64 {
	if len(tags) == 0 {
		return nil
	}
	values := make(map[string]int64, len(tags))
	for name, value := range tags {
		name = arm.Fold(name)
		if _, twice := values[name]; twice {
			values[name] = UnknownValue
		} else {
			values[name] = Digest(value)
		}
	}
	return values
}

// Digest is the digest by which a tag's value is found. What has the same one by chance
// is read and left out.
func Digest(value string) int64 {
	if !utf8.ValidString(value) {
		value = string([]rune(value)) // as it is stored
	}
	sum := sha256.Sum256([]byte(value))
	return max(int64(binary.BigEndian.Uint64(sum[:])&math.MaxInt64), UnknownValue+1)
}
