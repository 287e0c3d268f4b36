package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"portico/contoso"
	"portico/test/harness"
)

// regionsOfLongList are more than the usual ones.
var regionsOfLongList = []string{"westus", "eastus", "northeurope", "centralus", "southindia", "japaneast", "brazilsouth", "uksouth"}

// newLongList is a world of eight regions, each of which holds so many machines
// of the group rg and shows them in pages of 137. Portico has made one of them
// in each region, and the providers the others by themselves.
func newLongList(t *testing.T, perRegion int) clients {
	t.Helper()
	config := harness.Config{Endpoints: map[string]string{}}
	var more strings.Builder
	more.WriteString("regions:\n")
	for i, region := range regionsOfLongList {
		p, err := contoso.New(contoso.Options{Region: region, PageSize: 137})
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n < perRegion; n++ {
			makeMachine(t, p, region, n)
		}
		server := httptest.NewServer(p)
		t.Cleanup(func() {
			server.Close()
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
		config.Endpoints[region] = server.URL
		if i >= len(harness.RegionNames()) {
			fmt.Fprintf(&more, "  - {name: %s}\n", region)
		}
	}
	file := filepath.Join(t.TempDir(), "regions.yaml")
	if err := os.WriteFile(file, []byte(more.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	config.Extra = "include: [" + strconv.Quote(file) + "]\n"
	c := newClients(t, config)
	c.createGroup(t, "rg")
	for _, region := range regionsOfLongList {
		c.put(t, t.Context(), machineOf(region, 0), armresources.GenericResource{Location: &region})
	}
	return c
}

func machineOf(region string, n int) string {
	return fmt.Sprintf("/subscriptions/%s/resourceGroups/rg/providers/Contoso.Compute/virtualMachines/%s-%05d", harness.SubscriptionID, region, n)
}

func makeMachine(t *testing.T, p *contoso.Provider, region string, n int) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPut, machineOf(region, n)+"?api-version="+harness.Version, strings.NewReader(`{"location":"`+region+`"}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	if w.Code != http.StatusCreated {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}

// machinePage is a page as a generated client has it.
type machinePage struct {
	Value []struct {
		ID       string `json:"id"`
		Location string `json:"location"`
	} `json:"value"`
	NextLink *string `json:"nextLink"`
}

// machinesPager is the pager that a generated client of the provider would have.
func (c clients) machinesPager(query string) *runtime.Pager[machinePage] {
	first := c.Portico.URL + c.SubscriptionPath() + "/providers/Contoso.Compute/virtualMachines?api-version=" + harness.Version + query
	return runtime.NewPager(runtime.PagingHandler[machinePage]{
		More: func(page machinePage) bool { return page.NextLink != nil && *page.NextLink != "" },
		Fetcher: func(ctx context.Context, page *machinePage) (machinePage, error) {
			link := ""
			if page != nil {
				link = *page.NextLink
			}
			answer, err := runtime.FetcherForNextLink(ctx, c.pipeline, link, func(ctx context.Context) (*policy.Request, error) {
				return runtime.NewRequest(ctx, http.MethodGet, first)
			}, nil)
			if err != nil {
				return machinePage{}, err
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if err != nil {
				return machinePage{}, err
			}
			var next machinePage
			err = json.Unmarshal(text, &next)
			return next, err
		},
	})
}

// The SDK's pager walks a long list over many regions, in whatever sizes.
func TestLongList(t *testing.T) {
	const perRegion = 2500
	c := newLongList(t, perRegion)
	var want []string
	for _, region := range regionsOfLongList {
		for n := range perRegion {
			want = append(want, machineOf(region, n))
		}
	}
	slices.Sort(want)
	for query, most := range map[string]int{"": 19, "&$top=500": 20 * 8, "&$filter=" + "location%20ne%20%27mars%27": 19} {
		t.Run(query, func(t *testing.T) {
			var got []string
			pages := 0
			for pager := c.machinesPager(query); pager.More(); pages++ {
				page, err := pager.NextPage(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, machine := range page.Value {
					got = append(got, machine.ID)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) || pages > most {
				t.Errorf("%d machines on %d pages, want %d on at most %d", len(got), pages, len(want), most)
			}
		})
	}
}
