package proxy

import (
	"errors"
	"testing"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/inventory/index"
	"portico/routing"
)

// refused expects locationRefusal to refuse a write with a code after a probe of row.
func (f fixture) refused(want arm.Code, wanted *Resolved, row inventory.Resource) {
	f.t.Helper()
	var fault *arm.Error
	err := f.locationRefusal(f.t.Context(), &exchange.Exchange{Request: f.put()}, wanted, row, nil)
	if !errors.As(err, &fault) || fault.Code != want {
		f.t.Errorf("%v, want %v", err, want)
	}
}

// A GET whose result comes too late to be recorded settles nothing: while a DELETE is
// open, a Live row does not prove that the resource exists.
func TestLocationRefusalWhileADeleteIsOpen(t *testing.T) {
	f := newFixture(t)
	f.write(index.Put, "westus")
	row := f.row()
	f.refused(arm.InvalidResourceLocation, &Resolved{Decision: &routing.Decision{}}, row)
	f.begin(index.Delete, "westus")
	f.refused(arm.Conflict, &Resolved{Decision: &routing.Decision{}}, row)
}

// Nor does it if the resource has moved meanwhile, even to the wanted location.
func TestLocationRefusalAfterAMove(t *testing.T) {
	f := newFixture(t)
	f.write(index.Put, "westus")
	probed := f.row()
	f.write(index.Delete, "westus")
	f.write(index.Put, "eastus")
	wanted := &Resolved{Decision: &routing.Decision{}}
	wanted.Region, wanted.Location = "eastus", "eastus"
	f.refused(arm.Conflict, wanted, probed)
}
