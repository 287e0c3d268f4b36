package sdk

import (
	"crypto/tls"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"portico/test/harness"
)

// An application signs in at an issuer by its secret, as azidentity does it, and makes a
// group.
func TestClientSecretCredential(t *testing.T) {
	t.Parallel()
	issuer := harness.StartOIDCProvider(t, harness.ForTenant)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{TLS: true, Auth: issuer.Auth()}})
	configuration := cloud.Configuration{
		ActiveDirectoryAuthorityHost: issuer.Authority,
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: w.Portico.URL, Audience: harness.Audience},
		},
	}
	towards := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: issuer.Certificate.Pool, MinVersion: tls.VersionTLS12}}}
	defer towards.CloseIdleConnections()
	credential, err := azidentity.NewClientSecretCredential(harness.TenantID, harness.IssuedToApp, harness.ClientSecret, &azidentity.ClientSecretCredentialOptions{
		ClientOptions:            policy.ClientOptions{Cloud: configuration, Transport: towards, Retry: policy.RetryOptions{MaxRetries: -1}},
		DisableInstanceDiscovery: true, // the issuer is none that Microsoft knows
	})
	harness.OK(t, err)
	groups, err := armresources.NewResourceGroupsClient(w.SubscriptionID, credential, &arm.ClientOptions{ClientOptions: policy.ClientOptions{
		Cloud: configuration, Transport: w.Portico.Client, Retry: policy.RetryOptions{MaxRetries: -1},
	}})
	harness.OK(t, err)
	made, err := groups.CreateOrUpdate(t.Context(), "rg", armresources.ResourceGroup{Location: to.Ptr("westus")}, nil)
	harness.OK(t, err)
	if value(made.Name) != "rg" {
		t.Errorf("%+v", made)
	}
}
