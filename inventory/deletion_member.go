package inventory

import (
	"context"
	"database/sql"
	"errors"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
)

// DeletionMember is what a deletion remembers of a resource: Payload is JSON of its
// own, Error what the provider said last, empty for nothing.
type DeletionMember struct {
	Key            string // a row's, or [Stray.MemberKey]
	Payload, Error string
}

const (
	listMembers = `SELECT member, payload FROM deletion_members WHERE subscription = ? AND job = ? AND member > ?
		ORDER BY member LIMIT ?`
	selectMemberError = `SELECT error FROM deletion_members WHERE subscription = ? AND job = ? AND member = ?`
	putMember         = `INSERT INTO deletion_members (subscription, job, member, payload, error) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (subscription, job, member) DO UPDATE SET payload = excluded.payload,
			error = CASE WHEN excluded.error = '' THEN deletion_members.error ELSE excluded.error END`
	putMemberError = `INSERT INTO deletion_members (subscription, job, member, payload, error) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (subscription, job, member) DO UPDATE SET error = excluded.error`
)

// DeletionMembers lists what a deletion remembers, by key, without the errors.
func (s *Store) DeletionMembers(ctx context.Context, j jobrow.Job, after string, limit int) ([]DeletionMember, error) {
	return engine.Collect(s.engine.Read(ctx), func(scan engine.Scanner) (m DeletionMember, err error) {
		err = scan(&m.Key, &m.Payload)
		return m, err
	}, listMembers, j.Subscription, j.ID[:], after, engine.AtMost(limit))
}

// DeletionError returns what the provider said last of a resource, empty for nothing.
func (s *Store) DeletionError(ctx context.Context, j jobrow.Job, key string) (text string, err error) {
	err = s.engine.Read(ctx).One(selectMemberError, j.Subscription, j.ID[:], key)(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, err
}

// SaveDeletionProgress records what a deletion remembers of some resources, where an
// empty Error keeps the last one, and its payload unless that is empty. It need not
// be durable: what is lost is tried again. jobrow.ErrLeaseLost when the caller no
// longer holds the job.
func (s *Store) SaveDeletionProgress(ctx context.Context, j *jobrow.Job, payload string, members []DeletionMember) error {
	return s.writeForJob(ctx, engine.Unflushed, groupRecordLocks(j.Subscription, j.Subject), j, payload, func(t *tx, held jobrow.Job) error {
		if err := held.CheckHeld(t.Base()); err != nil {
			return err
		}
		if payload != "" {
			if err := held.Save(t.Base(), payload); err != nil {
				return err
			}
		}
		for _, m := range members {
			if err := t.Later(putMember, held.Subscription, held.ID[:], m.Key, m.Payload, m.Error); err != nil {
				return err
			}
		}
		return nil
	})
}

// RecordDeletionError keeps what a provider said of a resource whose accepted delete
// failed, if a deletion of its group is under way.
func (s *Store) RecordDeletionError(ctx context.Context, sub, group, key, text string) error {
	return s.write(ctx, engine.Unflushed, groupRecordLocks(sub, group), func(t *tx) error {
		g, err := t.group(sub, group)
		if errors.Is(err, ErrNotFound) || err == nil && g.State != index.GroupDeleting {
			return nil
		}
		if err != nil {
			return err
		}
		return t.Later(putMemberError, g.Subscription, g.Generation[:], arm.Fold(key), "", text)
	})
}
