package sdk

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armfeatures"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armsubscriptions"

	"portico/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// owner is the caller of these tests; it lives in the subscription's tenant.
var owner = harness.Token{
	Raw:      "a-token-of-the-owner",
	TenantID: harness.TenantID,
	ObjectID: "00000000-0000-0000-0000-0000000000b1",
	Name:     "owner@contoso.example",
}

// staticToken is a credential whose token needs no issuer.
type staticToken string

func (s staticToken) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: string(s), ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// clients are the SDK's clients of one world.
type clients struct {
	*harness.World
	groups        *armresources.ResourceGroupsClient
	resources     *armresources.Client
	providers     *armresources.ProvidersClient
	subscriptions *armsubscriptions.Client
	features      *armfeatures.Client
	pipeline      runtime.Pipeline // for calls that no client has a method for
}

// newClients starts a world behind TLS and static tokens and opens clients
// that present the owner's.
func newClients(t *testing.T, config harness.Config) clients {
	t.Helper()
	config.TLS = true
	config.Tokens = append([]harness.Token{owner}, config.Tokens...)
	w := harness.NewWorld(t, harness.WorldOptions{Config: config})
	return open(t, w, owner)
}

// open makes the clients that present a token.
func open(t *testing.T, w *harness.World, token harness.Token) clients {
	t.Helper()
	options := optionsFor(w)
	credential := staticToken(token.Raw)
	c := clients{World: w}
	var err [6]error
	plain, failure := arm.NewClient("test", "v1.0.0", credential, options)
	err[5] = failure
	c.groups, err[0] = armresources.NewResourceGroupsClient(w.SubscriptionID, credential, options)
	c.resources, err[1] = armresources.NewClient(w.SubscriptionID, credential, options)
	c.providers, err[2] = armresources.NewProvidersClient(w.SubscriptionID, credential, options)
	c.subscriptions, err[3] = armsubscriptions.NewClient(credential, options)
	c.features, err[4] = armfeatures.NewClient(w.SubscriptionID, credential, options)
	harness.OK(t, errors.Join(err[:]...))
	c.pipeline = plain.Pipeline()
	return c
}

// optionsFor has clients call a world, without retries.
func optionsFor(w *harness.World) *arm.ClientOptions {
	return &arm.ClientOptions{ClientOptions: policy.ClientOptions{
		Cloud: cloud.Configuration{
			ActiveDirectoryAuthorityHost: "https://login.example/",
			Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
				cloud.ResourceManager: {Endpoint: w.Portico.URL, Audience: "https://management.example/"},
			},
		},
		Transport: w.Portico.Client,
		Retry:     policy.RetryOptions{MaxRetries: -1},
	}}
}

// createGroup makes a resource group in westus.
func (c clients) createGroup(t *testing.T, name string) {
	t.Helper()
	_, err := c.groups.CreateOrUpdate(t.Context(), name, armresources.ResourceGroup{Location: to.Ptr("westus")}, nil)
	harness.OK(t, err)
}

// put creates or updates a resource by its id and waits for the operation.
func (c clients) put(t *testing.T, ctx context.Context, id string, resource armresources.GenericResource) armresources.GenericResource {
	t.Helper()
	poller, err := c.resources.BeginCreateOrUpdateByID(ctx, id, harness.Version, resource, nil)
	if err != nil {
		t.Fatalf("PUT %s: %v", id, err)
	}
	return finish(t, poller).GenericResource
}

// delete deletes a resource by its id and waits for the operation.
func (c clients) delete(t *testing.T, ctx context.Context, id string) {
	t.Helper()
	poller, err := c.resources.BeginDeleteByID(ctx, id, harness.Version, nil)
	if err != nil {
		t.Fatalf("DELETE %s: %v", id, err)
	}
	finish(t, poller)
}

// exists asks by HEAD.
func (c clients) exists(t *testing.T, id string) bool {
	t.Helper()
	answer, err := c.resources.CheckExistenceByID(t.Context(), id, harness.Version, nil)
	if err != nil {
		t.Fatalf("HEAD %s: %v", id, err)
	}
	return answer.Success
}

// endBound ends a wait in vain; nothing is measured by it.
const endBound = 3 * time.Minute

// finish polls an operation to its end without the pauses that the service
// asks for: the operations of these tests take a moment.
func finish[T any](t *testing.T, poller *runtime.Poller[T]) T {
	t.Helper()
	result, err := end(t, poller)
	harness.OK(t, err)
	return result
}

// end is finish, for operations that may fail.
func end[T any](t *testing.T, poller *runtime.Poller[T]) (none T, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), endBound)
	defer cancel()
	for !poller.Done() {
		if _, err := poller.Poll(ctx); err != nil { //nolint:bodyclose // the poller has read and closed it
			return none, err
		}
		select {
		case <-ctx.Done():
			t.Fatal("the operation did not end within the bound")
		case <-time.After(20 * time.Millisecond):
		}
	}
	return poller.Result(ctx)
}

// collect reads a list to its end.
func collect[P, T any](t *testing.T, pager *runtime.Pager[P], values func(P) []*T) (all []*T, pages int) {
	t.Helper()
	for pager.More() {
		page, err := pager.NextPage(t.Context())
		harness.OK(t, err)
		all = append(all, values(page)...)
		if pages++; pages > 100 {
			t.Fatal("the list has no end")
		}
	}
	return all, pages
}

// wantError ends the test unless err is the service's error of this status and
// code, in the place where the SDK looks for the code.
func wantError(t *testing.T, err error, status int, code string) {
	t.Helper()
	var answer *azcore.ResponseError
	if !errors.As(err, &answer) {
		t.Fatalf("error %v, want an azcore.ResponseError with %d %s", err, status, code)
	}
	if answer.StatusCode != status || answer.ErrorCode != code {
		t.Fatalf("error %d %s, want %d %s: %v", answer.StatusCode, answer.ErrorCode, status, code, err)
	}
}

// withHeader returns a context whose first call carries these headers; polls
// do not.
func withHeader(t *testing.T, pairs ...string) context.Context {
	t.Helper()
	return policy.WithHTTPHeader(t.Context(), harness.Header(pairs...))
}

// value is what an optional field holds, the zero value when it is absent.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
