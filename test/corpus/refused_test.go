package corpus

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"portico/test/harness"
)

// What is refused is refused before anything is sent, by the service and by the command in
// the same words, and the page for callers says so.
func TestTemplatesAreRefused(t *testing.T) {
	t.Parallel()
	cases, err := Cases("refused")
	harness.OK(t, err)
	page, err := os.ReadFile("../../docs/clients.md")
	harness.OK(t, err)
	s := newSite(t, cases)
	for i := range cases {
		c := &cases[i]
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s.begin(t, c)
			d := deployment{s, c, group(harness.SubscriptionID, c.Name), "westus"}
			for _, request := range []harness.Request{
				{Method: http.MethodPost, Path: d.path("/validate")}, {Method: http.MethodPost, Path: d.path("/whatIf")}, {Method: http.MethodPut, Path: d.path("")},
			} {
				request.Body = d.content(t, "Incremental")
				a := d.Do(t, request).WantError(t, 400, "InvalidTemplate")
				if body := a.JSON(t)["error"]; c.Refusal == "" || !strings.Contains(message(body), c.Refusal) {
					t.Errorf("%s: %s, want %q", request.Path, a.Body, c.Refusal)
				}
			}
			if stderr, code := d.template(t); code == 0 || !strings.Contains(stderr, c.Refusal) {
				t.Errorf("portico template: status %d, %s, want %q", code, stderr, c.Refusal)
			}
			if !strings.Contains(string(page), "| "+c.Refusal+" |") {
				t.Errorf("docs/clients.md has no row that ends in %q", c.Refusal)
			}
			s.end(t, c)
		})
	}
}

// message is what an error says, with its details.
func message(fault any) string {
	of, _ := fault.(map[string]any)
	text, _ := of["message"].(string)
	details, _ := of["details"].([]any)
	for _, detail := range details {
		text += "\n" + message(detail)
	}
	return text
}
