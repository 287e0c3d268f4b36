package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/index"
)

// Database creates an empty database and returns its Opener, which a test may call
// several times. The database is deleted after the test.
type Database func(t *testing.T) Opener

// Opener opens a database that Database created; it adds the DSN to the options.
type Opener func(context.Context, inventory.Options) (*inventory.Store, error)

// Run runs the whole suite.
func Run(t *testing.T, database Database) {
	for _, part := range []struct {
		name string
		run  func(*testing.T, Database)
	}{
		{"Opening", testOpening},
		{"Subscriptions", testSubscriptions},
		{"Groups", testGroups},
		{"Registrations", testRegistrations},
		{"Notices", testNotices},
		{"NoticesMeanwhile", testNoticesMeanwhile},
		{"RegistrationGuards", testRegistrationGuards},
		{"Erasing", testErasing},
		{"AbsentEndpoints", testAbsentEndpoints},
		{"Drains", testDrains},
		{"Retirement", testRetirement},
		{"RetirementOfNotices", testRetirementOfNotices},
		{"RetirementBesideMove", testRetirementDuringMove},
		{"Unstick", testUnstick},
		{"Operations", testOperations},
		{"SharedOperations", testSharedOperations},
		{"LearnedOperations", testLearnedOperations},
		{"OwnedOperations", testOwnedOperations},
		{"Resources", testResources},
		{"Selection", testSelection},
		{"Writes", testWrites},
		{"Answers", testAnswers},
		{"Patches", testPatches},
		{"Gets", testGets},
		{"Time", testTime},
		{"Durability", testDurability},
		{"Text", testText},
		{"GroupDelete", testGroupDelete},
		{"Quota", testQuota},
		{"Locations", testLocations},
		{"Target", testTarget},
		{"Scope", testScope},
		{"ScopesRemembered", testScopesRemembered},
		{"GrantsRemembered", testGrantsRemembered},
		{"Parents", testParents},
		{"Contest", testContest},
		{"Closing", testClosing},
		{"Deletion", testDeletion},
		{"Fences", testFences},
		{"ManagementLocks", testLocks},
		{"LockBounds", testLockBounds},
		{"RoleAssignments", testRoleAssignments},
		{"RoleDefinitions", testRoleDefinitions},
		{"Grants", testGrants},
		{"GrantedSubscriptions", testGrantedSubscriptions},
		{"RolesOfScopes", testRolesOfScopes},
		{"Tags", testTags},
		{"LocksWait", testLocksWait},
		{"Move", testMove},
		{"MoveBeside", testMoveAlongside},
		{"Jobs", testJobs},
		{"JobsOutlive", testJobsOutlive},
		{"RowJobs", testRowJobs},
		{"Adoption", testAdoption},
		{"Strays", testStrays},
		{"Coverage", testCoverage},
		{"IndexCounts", testIndexCounts},
		{"Unverified", testUnverified},
		{"Secrets", testSecrets},
		{"RequestBatches", testRequestBatches},
		{"Events", testEvents},
		{"Deployments", testDeployments},
		{"LargeDeployments", testLargeDeployments},
		{"DeploymentsOfCallers", testDeploymentsOfCallers},
		{"HistoryOfLargeDeployments", testHistoryOfLargeDeployments},
		{"DeploymentEvents", testDeploymentEvents},
		{"Names", testNames},
		{"SinkEvents", testSinkEvents},
		{"SinkOrders", testSinkOrders},
		{"EventsTellTheIndex", testEventsTellTheIndex},
		{"Disarm", testDisarm},
		{"DisarmDeniesNothing", testDisarmDeniesNothing},
		{"EventsNameWhoBegan", testEventsNameWhoBegan},
		{"Rehearsal", testRehearsal},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.run(t, database)
		})
	}
}

// Sub is the subscription that the tests work in.
const Sub = "00000000-0000-0000-0000-0000000000a1"

// Seed creates the subscription Sub, without which nothing can be written.
func Seed(ctx context.Context, store *inventory.Store) error {
	return store.SeedSubscriptions(ctx, []inventory.Subscription{{ID: Sub, TenantID: "t"}})
}

// Clock is a clock that a test moves.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock starts at an arbitrary time.
func NewClock() *Clock { return &Clock{now: time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)} }

// Now is the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Pass moves the clock forward.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Options are limits that suit tests, with the test's own clock.
func Options(c *Clock) inventory.Options {
	return inventory.Options{
		Now:        c.Now,
		SendWithin: 5 * time.Second, CallLimit: 60 * time.Second, CallMargin: 10 * time.Second,
		LateWriteWindow: 5 * time.Minute, TombstoneAge: 24 * time.Hour,
		PollFloor: time.Second, JobRecords: 48 * time.Hour,
		CacheTTL: time.Minute, CacheEntries: 1000, ScopeEntries: 4000,
	}
}

// callLife is the time after Begin at which a call has certainly ended.
const callLife = 70 * time.Second

// intentLife is the time after Begin at which an intent ends.
const intentLife = callLife + 5*time.Minute

// bench is a store with its clock, and short names for the steps of tests.
type bench struct {
	*testing.T
	*inventory.Store
	ctx   context.Context
	clock *Clock
}

func newBench(t *testing.T, database Database, adjust ...func(*inventory.Options)) *bench {
	t.Helper()
	clock := NewClock()
	o := Options(clock)
	for _, a := range adjust {
		a(&o)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	store, err := database(t)(ctx, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	b := &bench{T: t, Store: store, ctx: ctx, clock: clock}
	b.ok(Seed(ctx, store))
	return b
}

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatalf("unexpected error: %v", err)
	}
}

func (b *bench) is(err, want error) {
	b.Helper()
	if !errors.Is(err, want) {
		b.Fatalf("error is %v, want %v", err, want)
	}
}

// as asserts the type of an error and returns it.
func as[E error](b *bench, err error) E {
	b.Helper()
	var want E
	if !errors.As(err, &want) {
		b.Fatalf("error is %v (%T), want a %T", err, err, want)
	}
	return want
}

// refuses asserts the type of an error.
func refuses[E error](b *bench, err error) {
	b.Helper()
	_ = as[E](b, err)
}

func (b *bench) group(name string) inventory.Group {
	b.Helper()
	g, _, err := b.EditGroup(b.ctx, Sub, name, func(current *inventory.Group) (*inventory.Group, error) {
		return &inventory.Group{Name: name, Location: "westus", ETag: "1"}, nil
	})
	b.ok(err)
	return g
}

// id is the ID of a virtual machine.
func id(group, name string) string {
	return fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Contoso.Compute/virtualMachines/%s", Sub, group, name)
}

const (
	vmType   = "contoso.compute/virtualmachines"
	diskType = "contoso.compute/virtualmachines/disks"
)

func write(kind index.WriteKind, group, name string) inventory.Write {
	return inventory.Write{
		Kind: kind, Subscription: Sub, Group: group, Key: id(group, name), ID: id(group, name),
		Type: vmType, TypeName: "Contoso.Compute/virtualMachines", Region: "westus", Location: "westus",
		APIVersion: "2024-01-01", Sender: "test",
	}
}

func disk(kind index.WriteKind, group, vm, name string) inventory.Write {
	w := write(kind, group, vm)
	w.Parent, w.Type, w.TypeName = w.Key, diskType, "Contoso.Compute/virtualMachines/disks"
	w.ID += "/disks/" + name
	w.Key = w.ID
	return w
}

func (b *bench) begin(w inventory.Write) inventory.Ticket {
	b.Helper()
	ticket, err := b.Begin(b.ctx, w)
	b.ok(err)
	return ticket
}

// begins returns the error of a write's Begin.
func (b *bench) begins(w inventory.Write) error {
	b.Helper()
	_, err := b.Begin(b.ctx, w)
	return err
}

func (b *bench) settle(ticket inventory.Ticket, outcome index.Outcome) inventory.SettleResult {
	b.Helper()
	result, err := b.Settle(b.ctx, ticket, inventory.WriteResult{Outcome: outcome})
	b.ok(err)
	return result
}

// live creates a resource that exists.
func (b *bench) live(group, name string) inventory.Resource {
	b.Helper()
	return *b.settle(b.begin(write(index.Put, group, name)), index.Succeeded).Row
}

func (b *bench) row(group, name string) inventory.Resource {
	b.Helper()
	row, err := b.Resource(b.ctx, Sub, id(group, name))
	b.ok(err)
	return row
}

// children are the rows below a resource.
func (b *bench) children(id string) []inventory.Resource {
	b.Helper()
	rows, err := b.Resources(b.ctx, inventory.ResourceQuery{Subscription: Sub})
	b.ok(err)
	return slices.DeleteFunc(rows, func(row inventory.Resource) bool { return !strings.HasPrefix(row.Key, arm.Fold(id)+"/") })
}

func (b *bench) absent(name string) {
	b.Helper()
	_, err := b.Resource(b.ctx, Sub, id("rg", name))
	b.is(err, inventory.ErrNotFound)
}

// stands asserts phase and flag of a row in the group rg.
func (b *bench) stands(name string, phase index.Phase, verify bool) {
	b.Helper()
	if row := b.row("rg", name); row.Phase != phase || row.Verify != verify {
		b.Fatalf("the row is %s, verify %v; want %s, %v", row.Phase, row.Verify, phase, verify)
	}
}

func equal[T comparable](b *bench, got, want T) {
	b.Helper()
	if got != want {
		b.Fatalf("got %v, want %v", got, want)
	}
}
