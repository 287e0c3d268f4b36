package batch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestContentInBatch(t *testing.T) {
	for content, want := range map[string]string{"": "", `{"a": 1.0}`: `,"content":{"a": 1.0}`, "plain <text>": `,"content":"plain \u003ctext\u003e"`} {
		got := string(encode(json.RawMessage(`"n"`), 200, http.Header{"Etag": {"e"}, "X-Ms-A": {"1", "2"}}, []byte(content)))
		if want := fmt.Sprintf(`{"name":"n","httpStatusCode":200,"headers":{"ETag":"e","x-ms-a":"1, 2"},"contentLength":%d%s}`, len(content), want); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Content that is no JSON takes more room in a batch than by itself; that is known
// before it is made.
func TestSizeInBatch(t *testing.T) {
	for _, content := range []string{"", `{"a":"<"}`, "plain", "<&>", "a\x00\x1f\"\\", "é\u2028\u2029", "\xff\xfe<", strings.Repeat("<", 1000)} {
		shown := []byte(content)
		if !json.Valid(shown) && content != "" {
			shown, _ = json.Marshal(content)
		}
		if got, want := encodedSize([]byte(content)), int64(len(shown)); got > want || got < want-2 && content != "" {
			t.Errorf("%q: %d bytes, want %d", content, got, want)
		}
	}
}
