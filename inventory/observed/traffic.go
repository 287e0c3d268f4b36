package observed

import (
	"context"
	"fmt"
	"time"

	"portico/inventory/engine"
	"portico/inventory/transaction"
)

// TrafficKept is how long minutes of traffic are kept.
const TrafficKept = 24 * time.Hour

const (
	putTraffic = `INSERT INTO replica_traffic (subscription, region, minute, replica, requests, failures, refusals, in_flight, mean, p95)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (subscription, region, minute, replica) DO NOTHING`
	sumTraffic = `SELECT region, (minute - 1 - ?) / ?, SUM(requests), SUM(failures), SUM(refusals), SUM(in_flight), SUM(requests * mean), MAX(p95)
		FROM replica_traffic WHERE subscription = ? AND region IN (?, ?) AND minute > ? AND minute <= ? GROUP BY 1, 2`
	// After a pause of the gateways one write would otherwise delete a whole day.
	forgetTraffic = `DELETE FROM replica_traffic WHERE subscription = ? AND minute <= ?
		AND minute <= (SELECT MIN(minute) FROM replica_traffic WHERE subscription = ?) + ?`
)

// Flow counts requests by outcome. Mean and P95 are in seconds.
type Flow struct {
	Requests, Failures, Refusals int // refusals are Portico's own
	Mean, P95                    float64
}

// Minute is the flow of a minute, or of several, to one region, or of all requests.
type Minute struct {
	Region   string    // "": all requests
	Time     time.Time // of its end
	InFlight int       // of all requests, at its end
	Flow
}

// Traffic stores what all replicas that share a database counted, by minute.
type Traffic struct{ database *transaction.Database }

// NewTraffic returns the traffic of a database.
func NewTraffic(d *transaction.Database) *Traffic { return &Traffic{d} }

// Put stores minutes of a replica, each once, and deletes some of those that are older than
// [TrafficKept]. It is not durable: a lost minute leaves a gap in a chart.
func (s *Traffic) Put(ctx context.Context, replica string, minutes []Minute) error {
	return s.database.Write(ctx, engine.Unflushed, transaction.RecordLocks(noSubscription), func(t *transaction.Tx) error {
		for _, m := range minutes {
			if err := t.Later(putTraffic, noSubscription, m.Region, engine.Micros(m.Time), replica,
				m.Requests, m.Failures, m.Refusals, m.InFlight, int64(m.Mean*1e6), int64(m.P95*1e6)); err != nil {
				return err
			}
		}
		return t.Later(forgetTraffic, noSubscription, engine.Micros(t.Now.Add(-TrafficKept)), noSubscription, time.Hour.Microseconds())
	})
}

// Steps returns the flows of the steps after a time that have any, of all requests and of a
// region, in no order. They are sums over the replicas and minutes; P95 is the highest of
// theirs, InFlight the mean of the minutes.
func (s *Traffic) Steps(ctx context.Context, region string, after time.Time, step time.Duration, steps int) ([]Minute, error) {
	from, length := engine.Micros(after), step.Microseconds()
	found, err := engine.Collect(s.database.Read(ctx), func(scan engine.Scanner) (m Minute, err error) {
		var number, weighted, p95 int64
		err = scan(&m.Region, &number, &m.Requests, &m.Failures, &m.Refusals, &m.InFlight, &weighted, &p95)
		m.Time, m.InFlight = after.Add(time.Duration(number+1)*step), m.InFlight*int(time.Minute)/int(step)
		m.Mean, m.P95 = float64(weighted)/float64(max(1, m.Requests))/1e6, float64(p95)/1e6
		return m, err
	}, sumTraffic, from, length, noSubscription, "", region, from, from+int64(steps)*length)
	if err != nil {
		return nil, fmt.Errorf("read the traffic of replicas: %w", err)
	}
	return found, nil
}
