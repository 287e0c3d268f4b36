package inventory

import "portico/arm"

const (
	insertTag = `INSERT INTO resource_tags (subscription, tag, resource) VALUES (?, ?, ?)
		ON CONFLICT (subscription, tag, resource) DO NOTHING`
	deleteTag = `DELETE FROM resource_tags WHERE subscription = ? AND tag = ? AND resource = ?`
)

// retag keeps the index of tag names in step with a row whose tags change.
func retag(t *tx, sub, key string, before, after map[string]string) error {
	old, fresh := tagNames(before), tagNames(after)
	for name := range old {
		if fresh[name] {
			continue
		}
		if err := t.Later(deleteTag, sub, name, key); err != nil {
			return err
		}
	}
	for name := range fresh {
		if old[name] {
			continue
		}
		if err := t.Later(insertTag, sub, name, key); err != nil {
			return err
		}
	}
	return nil
}

func tagNames(tags map[string]string) map[string]bool {
	names := make(map[string]bool, len(tags))
	for name := range tags {
		names[arm.Fold(name)] = true
	}
	return names
}
