package inventory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/memory"
)

// Resource is one row of the index.
type Resource struct {
	Subscription string // folded
	Key          string // folded ID
	ID           string // as the latest PUT or PATCH wrote it
	Group        string // folded
	Type         string // folded full type, "contoso.compute/virtualmachines"
	TypeName     string // as declared, "Contoso.Compute/virtualMachines"
	Name         string // as written, "parent/child" for a nested resource
	Parent       string // key of the tracked parent, or empty
	Region       string // of the endpoint that has it
	Location     string // normalised

	Phase index.Phase
	// Verify: something ambiguous happened, so Portico has to GET the resource.
	Verify bool
	// FollowPut, FollowDelete and FollowPatch: the provider accepted a PUT, a DELETE or a
	// PATCH, whose end is not known yet.
	FollowPut, FollowDelete, FollowPatch bool
	// Generation changes whenever the index learns something about the resource.
	Generation [16]byte

	ProvisioningState string
	APIVersion        string // of the latest PUT
	Details           Details
	Creator           Creator
	Created           time.Time // when its first PUT was recorded
	Changed           time.Time // when the latest PUT or PATCH succeeded

	unreported unreportedWrites
}

// NeedsVerify reports whether the resource may differ from the row, so that a GET is
// needed. It always does while an accepted delete is followed.
func (r *Resource) NeedsVerify() bool { return index.NeedsVerify(r.Phase, r.Verify) }

// Follows reports whether the operation of an accepted write of a kind is followed.
func (r *Resource) Follows(kind index.WriteKind) bool { return r.ruleRow().Follows(kind) }

// WriteUnderWay returns the method of the accepted write that the provider may still carry
// out, "write" if only the resource's state shows it, and "" if there is none. It does not
// return deletes, which the phase and FollowDelete show.
func (r *Resource) WriteUnderWay() string {
	switch {
	case r.FollowPut:
		return index.Put.String()
	case r.FollowPatch:
		return index.Patch.String()
	case r.Verify && r.Phase != index.Deleting && !index.Terminal(r.ProvisioningState): // verified until it has ended
		return "write"
	}
	return ""
}

// Creator is the sender of a resource's first PUT; empty if unknown.
type Creator struct {
	Name string // as in systemData
	Kind string // User, Application, …
}

// Details holds the members of a resource that lists show beyond the row. JSON members are
// as the provider sent them.
type Details struct {
	Tags      map[string]string `json:"tags,omitempty"`
	Kind      string            `json:"kind,omitempty"`
	ManagedBy string            `json:"managedBy,omitempty"`
	SKU       json.RawMessage   `json:"sku,omitempty"`
	Plan      json.RawMessage   `json:"plan,omitempty"`
	Identity  json.RawMessage   `json:"identity,omitempty"`
	Zones     json.RawMessage   `json:"zones,omitempty"`
}

const (
	resourceColumns = `subscription, key, id, resource_group, type, type_name, name, parent, region, location,
		phase, verify, following, generation, provisioning_state, api_version, details, creator, creator_kind, created, changed, unreported`

	resourcesFrom   = `SELECT ` + resourceColumns + ` FROM resources WHERE subscription = ?`
	generationsFrom = `SELECT key, generation FROM resources WHERE subscription = ?`
	selectResource  = resourcesFrom + ` AND key = ?`
	lockResourceRow = selectResource + engine.ForUpdate

	insertResource = `INSERT INTO resources (` + resourceColumns + `, name_key)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (subscription, key) DO NOTHING`
	// It sets few columns, because an engine writes every column that a statement sets, and
	// the indexes with that column, even if its value stays the same.
	respellResource = `UPDATE resources
		SET id = ?, name = ?, name_key = ?, location = ?, phase = ?, verify = ?, following = ?, generation = ?, unreported = ?,
			provisioning_state = ?, api_version = ?, details = ?, changed = ?
		WHERE subscription = ? AND key = ? AND generation = ?`
	updateResource = `UPDATE resources
		SET phase = ?, verify = ?, following = ?, generation = ?, unreported = ?, provisioning_state = ?, api_version = ?, details = ?, changed = ?
		WHERE subscription = ? AND key = ? AND generation = ?`
	markResource = `UPDATE resources SET phase = ?, verify = ?, following = ?, generation = ?, unreported = ?
		WHERE subscription = ? AND key = ? AND generation = ?`
	proveResource  = `SELECT 1 / COUNT(*) FROM resources WHERE subscription = ? AND key = ? AND generation = ?`
	lockGeneration = `SELECT 1 / COUNT(*) FROM (SELECT key FROM resources WHERE subscription = ? AND key = ? AND generation = ?` + engine.ForUpdate + `) AS found`
	noneBelow      = `SELECT 1 / (1 - COUNT(*)) FROM (SELECT key FROM resources WHERE subscription = ? AND key >= ? AND key < ? LIMIT 1) AS found`
	deleteResource = `DELETE FROM resources WHERE subscription = ? AND key = ? AND generation = ?`
	flagChildren   = `UPDATE resources SET verify = 1, generation = ?, unreported = COALESCE(unreported, ?)
		WHERE subscription = ? AND key >= ? AND key < ? RETURNING key, region`
)

// The bits of the column following.
const (
	followsPut = 1 << iota
	followsDelete
	followsPatch
)

func (r *Resource) followBits() int64 {
	return engine.Flag(r.FollowPut)*followsPut | engine.Flag(r.FollowDelete)*followsDelete | engine.Flag(r.FollowPatch)*followsPatch
}

func scanResource(scan engine.Scanner) (Resource, error) {
	var (
		r                           Resource
		generation                  []byte
		following, created, changed int64
		details                     string
	)
	err := scan(&r.Subscription, &r.Key, &r.ID, &r.Group, &r.Type, &r.TypeName, &r.Name, &r.Parent, &r.Region,
		&r.Location, &r.Phase, &r.Verify, &following, &generation, &r.ProvisioningState, &r.APIVersion, &details,
		&r.Creator.Name, &r.Creator.Kind, &created, &changed, &r.unreported.text)
	if err != nil {
		return Resource{}, err
	}
	if details != "" {
		if err := json.Unmarshal([]byte(details), &r.Details); err != nil {
			return Resource{}, fmt.Errorf("details of %s: %w", r.Key, err)
		}
	}
	copy(r.Generation[:], generation)
	r.FollowPut, r.FollowDelete = following&followsPut != 0, following&followsDelete != 0
	r.FollowPatch = following&followsPatch != 0
	r.Created, r.Changed = engine.TimeOf(created), engine.TimeOf(changed)
	return r, nil
}

func (d Details) stored() (string, error) {
	text, err := json.Marshal(d)
	return string(text), err
}

func (r *Resource) insert(t *tx) error {
	details, err := r.Details.stored()
	if err != nil {
		return err
	}
	return t.CreateOne(engine.Request{Statement: insertResource, Args: []any{
		r.Subscription, r.Key, r.ID, r.Group, r.Type, r.TypeName, r.Name, r.Parent, r.Region,
		r.Location, r.Phase, engine.Flag(r.Verify), r.followBits(), r.Generation[:], r.ProvisioningState, r.APIVersion, details,
		r.Creator.Name, r.Creator.Kind, engine.Micros(r.Created), engine.Micros(r.Changed), r.unreported.stored(), arm.Fold(r.Name),
	}}, engine.Proof(proveResource, r.Subscription, r.Key, r.Generation[:]))
}

// replace writes a row in place of before, which the transaction has read or expects.
// learnt reports that more fields may differ than the ones that apply sets.
func (r *Resource) replace(t *tx, before *Resource, learnt bool) error {
	rule := []any{r.Phase, engine.Flag(r.Verify), r.followBits(), r.Generation[:], r.unreported.stored()}
	at := []any{r.Subscription, r.Key, before.Generation[:]}
	if !learnt {
		return t.ChangeOne(markResource, slices.Concat(rule, at)...)
	}
	details, err := r.Details.stored()
	if err != nil {
		return err
	}
	args := slices.Concat(rule, []any{r.ProvisioningState, r.APIVersion, details, engine.Micros(r.Changed)}, at)
	if r.ID == before.ID && r.Name == before.Name && r.Location == before.Location {
		return t.ChangeOne(updateResource, args...)
	}
	return t.ChangeOne(respellResource, slices.Concat([]any{r.ID, r.Name, arm.Fold(r.Name), r.Location}, args)...)
}

// Resource returns one row from the store, or ErrNotFound.
func (s *Store) Resource(ctx context.Context, sub, key string) (Resource, error) {
	return loadResource(s.engine.Read(ctx), selectResource, sub, key)
}

func loadResource(from engine.Source, statement, sub, key string) (Resource, error) {
	r, err := scanResource(from.One(statement, arm.Fold(sub), arm.Fold(key)))
	return r, engine.OrNotFound(err)
}

// nameIn returns the name of a resource of a type from its ID: every second one of the last
// segments, joined by '/'. It counts from the end, because a name may be "providers".
func nameIn(id, typ string) string {
	segments := strings.Split(id, "/")
	depth := strings.Count(typ, "/")
	if 2*depth > len(segments) {
		return ""
	}
	segments = segments[len(segments)-2*depth:]
	names := make([]string, 0, depth)
	for i := 1; i < len(segments); i += 2 {
		names = append(names, segments[i])
	}
	return strings.Join(names, "/")
}

// UnchangedSince reports whether a row has not changed since the store was restored; restored is
// zero if it never was. The resource of such a row may have been deleted since the copy,
// and created again in another region.
func (r *Resource) UnchangedSince(restored time.Time) bool {
	return !restored.IsZero() && !r.Changed.After(restored)
}

const selectLocation = `SELECT region, type, generation, phase, verify, provisioning_state FROM resources WHERE subscription = ? AND key = ?`

// location reads the part of a row that is cached.
func (s *Store) location(ctx context.Context, sub, key string) (memory.Located, error) {
	found := memory.Located{Found: true}
	var generation []byte
	var provisioningState string
	err := s.engine.Read(ctx).One(selectLocation, sub, key)(&found.Region, &found.Type, &generation, &found.Phase, &found.Verify, &provisioningState)
	if errors.Is(err, sql.ErrNoRows) {
		return memory.Located{}, nil
	}
	if err != nil {
		return memory.Located{}, err
	}
	copy(found.Generation[:], generation)
	found.Unfinished = !index.Terminal(provisioningState)
	return found, nil
}
