package inventory

import (
	"context"
	"slices"
	"strings"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
)

// ResourceAndRemoval returns a row, and whether a DELETE or a move of the resource,
// or of one above it, is open. While one is, even a Live row proves nothing: the
// client may know that the resource is gone, and the settle that said so may be lost.
// Both are of one moment. ErrNotFound where there is no row.
func (s *Store) ResourceAndRemoval(ctx context.Context, sub, key string) (row Resource, removalOpen bool, err error) {
	sub, key = arm.Fold(sub), arm.Fold(key)
	above := ancestry(key)
	args := append([]any{sub, index.Delete, index.Move}, above...)
	args = append(args, sub, key)
	row, err = scanResource(func(dest ...any) error {
		return s.engine.Read(ctx).One(selectWithRemoval(len(above)), args...)(append(dest, &removalOpen)...)
	})
	return row, removalOpen, engine.OrNotFound(err)
}

// selectWithRemoval is the statement for a resource and those above it, n in all.
func selectWithRemoval(n int) string {
	keys := strings.Join(slices.Repeat([]string{"?"}, n), ", ")
	return `SELECT ` + resourceColumns + `,
		EXISTS (SELECT 1 FROM intents WHERE subscription = ? AND kind IN (?, ?) AND key IN (` + keys + `))
		FROM resources WHERE subscription = ? AND key = ?`
}

// ancestry lists the keys of a resource and of all that may lie above it. Some are
// prefixes that name no resource; nothing is recorded of those.
func ancestry(key string) []any {
	keys := []any{key}
	segments := 0
	for i := 1; i < len(key); i++ {
		if key[i] != '/' {
			continue
		}
		// After scope and namespace, types and names alternate.
		if segments++; segments > scopeSegments && segments%2 == 0 {
			keys = append(keys, key[:i])
		}
	}
	return keys
}

// scopeSegments is how many segments of an ID come before its first type:
// subscriptions, its id, resourceGroups, its name, providers, the namespace.
const scopeSegments = 6
