package sdk

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"portico/test/harness"
)

// The SDK has no client for batches; those who send them from Go do it by its
// pipeline, with these types.
type (
	armBatch struct {
		Requests []armBatchRequest `json:"requests"`
	}
	armBatchRequest struct {
		HTTPMethod  string         `json:"httpMethod"`
		Name        string         `json:"name,omitempty"`
		RelativeURL string         `json:"relativeUrl"`
		Content     map[string]any `json:"content,omitempty"`
	}
	armBatchAnswer struct {
		Responses []armBatchResponse `json:"responses"`
	}
	armBatchResponse struct {
		HTTPStatusCode int             `json:"httpStatusCode"`
		Name           string          `json:"name"`
		Content        json.RawMessage `json:"content"`
	}
)

func (c clients) batch(t *testing.T, batch armBatch) *http.Response {
	t.Helper()
	r, err := runtime.NewRequest(t.Context(), http.MethodPost, c.Portico.URL+"/batch")
	if err != nil {
		t.Fatal(err)
	}
	query := r.Raw().URL.Query()
	query.Set("api-version", "2020-06-01")
	r.Raw().URL.RawQuery = query.Encode()
	if err := runtime.MarshalAsJSON(r, batch); err != nil {
		t.Fatal(err)
	}
	answer, err := c.pipeline.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if !runtime.HasStatusCode(answer, http.StatusOK, http.StatusAccepted) {
		t.Fatal(runtime.NewResponseError(answer))
	}
	return answer
}

func TestBatch(t *testing.T) {
	c := newClients(t, harness.Config{Extra: "operations: {retryAfterMin: 1s, retryAfterMax: 1s}\n"})
	c.createGroup(t, "rg")
	puts := func(n int) (b armBatch) {
		for i := range n {
			b.Requests = append(b.Requests, armBatchRequest{
				HTTPMethod: http.MethodPut, Name: fmt.Sprint(i), Content: map[string]any{"location": "eastus"},
				RelativeURL: c.ResourcePath("rg", fmt.Sprint("Contoso.Compute/virtualMachines/vm", i)) + "?api-version=" + harness.Version,
			})
		}
		return b
	}
	check := func(answer armBatchAnswer, n, status int) {
		t.Helper()
		if len(answer.Responses) != n {
			t.Fatalf("%d responses to %d requests", len(answer.Responses), n)
		}
		for i, r := range answer.Responses {
			if r.HTTPStatusCode != status || r.Name != fmt.Sprint(i) || !json.Valid(r.Content) {
				t.Errorf("%d %s %s", r.HTTPStatusCode, r.Name, r.Content)
			}
		}
	}
	answer := c.batch(t, puts(20)) //nolint:bodyclose // unmarshalling reads and closes it
	var short armBatchAnswer
	if err := runtime.UnmarshalAsJSON(answer, &short); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status, err)
	}
	check(short, 20, http.StatusCreated)

	accepted := c.batch(t, puts(30)) //nolint:bodyclose // the poller reads and closes it
	if accepted.StatusCode != http.StatusAccepted {
		t.Fatal(accepted.Status)
	}
	poller, err := runtime.NewPoller[armBatchAnswer](accepted, c.pipeline, nil)
	if err != nil {
		t.Fatal(err)
	}
	long := finish(t, poller)
	check(armBatchAnswer{long.Responses[:20]}, 20, http.StatusOK)
	if len(long.Responses) != 30 || long.Responses[29].HTTPStatusCode != http.StatusCreated || !c.exists(t, c.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm29")) {
		t.Errorf("%+v", long.Responses[20:])
	}
}
