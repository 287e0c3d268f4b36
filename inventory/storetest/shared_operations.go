package storetest

import (
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/polls"
)

// testSharedOperations: a provider may answer writes of several callers with the same
// URL. Each of them has it, and no one else.
func testSharedOperations(t *testing.T, database Database) {
	b := newBench(t, database)
	of := func(object, region string) polls.Operation {
		return polls.Operation{Subscription: Sub, Token: "ab", Method: "DELETE", Namespace: "Contoso.Compute", Region: region,
			TenantID: "t", ObjectID: object, Created: b.clock.Now(), Until: b.clock.Now().Add(time.Hour)}
	}
	owner := func(object string) (found, region string) {
		b.Helper()
		o, err := b.Operations.OperationFor(b.ctx, Sub, "ab", "T", object)
		b.ok(err)
		return o.ObjectID, o.Region
	}
	wants := func(object, found, region string) {
		b.Helper()
		gotFound, gotRegion := owner(object)
		equal(b, gotFound+" "+gotRegion, found+" "+region)
	}
	_, err := b.Operations.OperationFor(b.ctx, Sub, "ab", "t", "first")
	b.is(err, inventory.ErrNotFound)
	learned := of("", "westus")
	learned.TenantID = ""
	b.ok(b.Operations.Learn(b.ctx, learned))
	wants("anybody", "", "westus")

	b.ok(b.Operations.Record(b.ctx, of("first", "westus"))) // a record without an owner becomes that of the caller that started it
	b.ok(b.Operations.Record(b.ctx, of("second", "eastus")))
	b.group("rg")
	third := of("third", "eastus")
	result, err := b.Settle(b.ctx, b.begin(write(index.Put, "rg", "vm")), inventory.WriteResult{Outcome: index.Accepted, Operations: []polls.Operation{third}})
	b.ok(err)
	b.ok(b.Operations.Record(b.ctx, learned)) // takes it from no one
	wants("first", "first", "westus")
	wants("second", "second", "eastus")
	wants("third", "third", "eastus")
	wants("fourth", "first", "westus")
	o, err := b.Operations.OperationFor(b.ctx, Sub, "ab", "t", "third")
	b.ok(err)
	equal(b, o.Follow, result.Follow)
	equal(b, o.BelongsTo("T", "third"), true)
	equal(b, o.BelongsTo("t", "fourth"), false)
	equal(b, o.BelongsTo("another", "third"), false)

	// Each record changes and is renewed by itself.
	o.Region = "northeurope"
	b.ok(b.Operations.Record(b.ctx, o))
	b.ok(b.Operations.Record(b.ctx, of("second", "westus")))
	b.ok(b.Operations.Record(b.ctx, of("first", "eastus")))
	wants("first", "first", "eastus")
	wants("second", "second", "westus")
	wants("third", "third", "northeurope")
	b.ok(b.Operations.Renew(b.ctx, Sub, o.Token, o.Until.Add(time.Hour)))
	b.clock.Pass(time.Hour)
	wants("third", "third", "northeurope")
	_, err = b.Operations.OperationFor(b.ctx, Sub, "ab", "t", "second")
	b.is(err, inventory.ErrNotFound)

	// An expired record can become anyone's.
	b.ok(b.Operations.Record(b.ctx, of("second", "westus")))
	wants("first", "second", "westus")
	wants("third", "third", "northeurope")
}

// testOwnedOperations: in any spelling of an operation's URL, it is known whether the
// caller started it, and whether somebody else did.
func testOwnedOperations(t *testing.T, database Database) {
	b := newBench(t, database)
	record := func(token, identity, tenant, object string, kept time.Duration) {
		b.Helper()
		b.ok(b.Operations.Record(b.ctx, polls.Operation{Subscription: Sub, Token: token, Identity: identity, Method: "PUT", Namespace: "Contoso.Compute",
			TenantID: tenant, ObjectID: object, Created: b.clock.Now(), Until: b.clock.Now().Add(kept)}))
	}
	wants := func(sub, identity, object, token string, others bool) {
		b.Helper()
		own, found, err := b.Operations.OperationByIdentity(b.ctx, sub, identity, "T", object)
		if token == "" && !others {
			b.is(err, inventory.ErrNotFound)
		} else {
			b.ok(err)
		}
		equal(b, own.Token, token)
		equal(b, found, others)
	}
	wants(Sub, "i", "ann", "", false)
	record("nobodys", "i", "", "", time.Hour)
	wants(Sub, "i", "ann", "", false)
	record("anns", "i", "t", "ann", 2*time.Hour)
	record("anns-too", "j", "t", "ann", 2*time.Hour)
	wants(Sub, "i", "ann", "anns", false)
	wants(Sub, "i", "bob", "", true)
	wants(Sub, "k", "bob", "", false)
	wants("", "i", "bob", "", false)
	got, _, err := b.Operations.OperationByIdentity(b.ctx, Sub, "i", "t", "ann")
	b.ok(err)
	equal(b, got.Identity, "i")
	equal(b, got.HasToken("anns"), true)
	equal(b, got.HasToken("nobodys"), false)

	// Callers that started one count as others, whoever was first.
	for _, other := range []string{"bob", "abe"} {
		record(other, "i", "t", other, time.Hour)
		wants(Sub, "i", "ann", "", true)
		wants(Sub, "i", other, "", true)
		b.clock.Pass(time.Hour) // an expired record counts no longer
		wants(Sub, "i", other, "", other == "bob")
		record("anns", "i", "t", "ann", 2*time.Hour)
		wants(Sub, "i", "ann", "anns", false)
		b.clock.Pass(time.Hour)
	}
	record("abroad", "i", "u", "ann", time.Hour)
	wants(Sub, "i", "ann", "", true)

	// Each caller of a shared URL has a record, and neither is the only one.
	record("shared", "s", "t", "ann", time.Hour)
	record("shared", "s", "t", "bob", time.Hour)
	wants(Sub, "s", "ann", "", true)
	wants(Sub, "s", "bob", "", true)
	shared, err := b.Operations.OperationFor(b.ctx, Sub, "shared", "t", "bob")
	b.ok(err)
	equal(b, shared.HasToken("shared"), true)
}
