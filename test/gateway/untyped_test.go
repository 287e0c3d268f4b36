package gateway_test

import (
	"net/http"
	"strings"
	"testing"
)

// A provider's answer without a media type gets none on its way, by itself or in
// a batch.
func TestAnswersWithoutAMediaType(t *testing.T) {
	p := newScripted(t, setup{})
	item := p.item("i")
	const text = "<html><script>1</script>"
	for _, target := range []string{item + api, item + "/skus" + api} {
		p.says["GET "+target] = said{status: 200, header: http.Header{"Content-Type": nil}, body: text}
		if got := p.ok(200, "GET", target, ""); got.text != text || len(got.header["Content-Type"]) != 0 {
			t.Errorf("%s: %v %s", target, got.header, got.text)
		}
	}
	got := p.ok(200, "POST", batchPath, `{"requests":[{"httpMethod":"GET","url":"`+item+api+`"}]}`)
	if !strings.Contains(got.text, "script") || strings.Contains(got.text, `"Content-Type"`) {
		t.Errorf("%s", got.text)
	}
}
