package inventory

import (
	"context"
	"encoding/json"

	"portico/arm"
)

const doubtful = `SELECT ` + resourceColumns + ` FROM resources WHERE subscription = ? AND phase = ? AND verify >= ?
	ORDER BY key LIMIT ?`

// Doubtful returns at most limit rows of a subscription that are not plainly
// alive: flagged for verification, or in any phase but Live.
func (s *Store) Doubtful(ctx context.Context, sub string, limit int) ([]Resource, error) {
	var rows []Resource
	for _, part := range []struct {
		phase    Phase
		flagFrom int // of the column verify
	}{{Live, 1}, {Pending, 0}, {Deleting, 0}} {
		found, err := collect(s.read(ctx), scanResource, doubtful, arm.Fold(sub), part.phase, part.flagFrom, limit-len(rows))
		if err != nil {
			return nil, err
		}
		if rows = append(rows, found...); len(rows) >= limit {
			break
		}
	}
	return rows, nil
}

// ReadDetails reads from a resource's JSON what the index keeps of it. Text
// that is no such JSON says nothing: no state, and nil.
func ReadDetails(text []byte) (provisioningState string, _ *Details) {
	var resource struct {
		Details
		Properties struct {
			ProvisioningState string `json:"provisioningState"`
		} `json:"properties"`
	}
	if json.Unmarshal(text, &resource) != nil {
		return "", nil
	}
	return resource.Properties.ProvisioningState, &resource.Details
}
