package access

import (
	"encoding/json"
	"time"
)

// LastModified is the system data of a call by which Portico changes or deletes a
// resource for p: its provider records by whom, and when (common headers,
// x-ms-arm-resource-system-data).
func (p Principal) LastModified(at time.Time) string {
	text, err := json.Marshal(map[string]string{
		"lastModifiedBy": p.Signature(), "lastModifiedByType": p.Kind(),
		"lastModifiedAt": at.UTC().Format("2006-01-02T15:04:05.0000000Z"),
	})
	if err != nil { // strings always have a JSON form
		return "{}"
	}
	return string(text)
}
