package operations

import (
	"encoding/json"
	"time"

	"portico/access"
)

// systemData is who changes or deletes a resource by Portico's own call, and
// when, for its provider to record (common headers, x-ms-arm-resource-system-data).
func systemData(by access.Principal, at time.Time) string {
	text, err := json.Marshal(map[string]string{
		"lastModifiedBy": by.Signature(), "lastModifiedByType": by.Kind(),
		"lastModifiedAt": at.UTC().Format("2006-01-02T15:04:05.0000000Z"),
	})
	if err != nil { // strings always have a JSON form
		return "{}"
	}
	return string(text)
}
