package contract_test

import (
	"strings"
	"testing"

	"portico/provider/certify/contract"
	"portico/provider/contoso"
)

// listCases are the ids of the cases that read lists.
func listCases() []string {
	var ids []string
	for _, c := range contract.All() {
		if strings.HasPrefix(c.ID, "list/") || c.ID == "casing/of-a-next-link" {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// A provider that appends its token to the Referer keeps the rules of lists, straight and
// through Portico: both stamp the same.
func TestAppendedTokens(t *testing.T) {
	t.Parallel()
	t.Run("straight", func(t *testing.T) {
		t.Parallel()
		endpoint := serveHere(t, contoso.Options{Region: "westus", Habits: []string{contoso.AppendToken}}, nil)
		tried := run(t, contract.Target{
			Adapter: contract.Straight(map[string]string{"westus": endpoint}), Description: describe(t), Cases: listCases(), Disruptive: true,
		})
		if len(tried) == 0 {
			t.Error("nothing was tried")
		}
	})
	t.Run("through Portico", func(t *testing.T) {
		t.Parallel()
		target := throughDoor(t, startDoor(t, startProviders(t, "--habit", contoso.AppendToken), ""))
		target.Cases, target.Disruptive = listCases(), true
		if tried := run(t, target); len(tried) == 0 {
			t.Error("nothing was tried")
		}
	})
}
