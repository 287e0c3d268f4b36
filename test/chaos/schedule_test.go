package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"portico/internal/failpoint"
)

// kind is a fault of the schedule.
type kind uint8

const (
	killGateway  kind = iota // and start it again
	killGateways             // all at once
	pauseGateway             // for longer than its lease and its right to send
	pauseAndKill             // pause one, kill the other meanwhile
	killRegion               // and start it again
	restartStore             // in good order
	crashStore               // with recovery at the start; what was not flushed is lost
	pauseStore               // and let it go on
	failOver                 // kill the primary, promote its standby
	killAtPoint              // have a gateway end itself at a failpoint, and start it again
	pauseAtPoint             // stop one of its goroutines there
	failAtPoint              // have a step of the protocol fail now and then
	kinds
)

var kindNames = [kinds]string{
	"kill a gateway", "kill all gateways", "pause a gateway", "pause a gateway and kill another", "kill a region",
	"restart the store", "crash the store", "pause the store", "kill the primary and promote its standby",
	"kill a gateway at a point", "pause a gateway at a point", "fail a gateway at a point",
}

func (k kind) String() string { return kindNames[k] }

// kills is how many gateways a fault ends by SIGKILL.
func (k kind) kills() int {
	switch k {
	case killGateway, pauseAndKill, killAtPoint:
		return 1
	case killGateways:
		return 2
	}
	return 0
}

// fault is one entry of the schedule.
type fault struct {
	kind kind
	at   float64 // the share of the writes that have been sent by then
	of   int     // which gateway or region
	// aimed: it waits for a gateway that is in the midst of a group's deletion, and
	// kills that one.
	aimed bool
	hold  time.Duration
	point failpoint.Point // of the kinds that have one
}

// atPoint holds for the kinds that need a failpoint.
func (k kind) atPoint() bool { return k == killAtPoint || k == pauseAtPoint || k == failAtPoint }

func (f fault) String() string {
	text := fmt.Sprintf("%s (%d, after %.0f%% of the writes, for %v)", f.kind, f.of, 100*f.at, f.hold.Round(time.Millisecond))
	if f.point != "" {
		text += " " + string(f.point)
	}
	return text
}

// pointsFor are the failpoints that a kind of fault can be at: those that the
// clients come to. They move and deploy nothing.
func pointsFor(k kind) (points []failpoint.Point) {
	for _, d := range failpoint.All() {
		reached := !strings.HasPrefix(string(d.Point), "move.") && !strings.HasPrefix(string(d.Point), "deploy.")
		if reached && (d.Fails || k != failAtPoint) {
			points = append(points, d.Point)
		}
	}
	return points
}

// schedule spreads faults over a run of some length: kills of gateways as many
// as asked for, and other faults among them. The same numbers give the same
// schedule. Where the store is shared it is struck too, and its primary is lost
// once, in the second half. The last fault, when the clients have gone, is a kill.
func schedule(random *rand.Rand, kills int, shared bool) []fault {
	var wanted []kind
	last := fault{kind: killGateway, at: 1}
	if shared && kills > 1 {
		last.kind = killGateways
	}
	left := kills - last.kind.kills()
	if shared {
		for range max(1, kills/6) {
			wanted = append(wanted, restartStore, crashStore, pauseStore)
		}
	}
	for range max(2, kills/3) {
		wanted = append(wanted, pauseGateway, killRegion, pauseAtPoint, failAtPoint)
	}
	for left > 0 {
		k := killGateway
		switch n := random.IntN(10); {
		case !slices.Contains(wanted, killAtPoint):
			k = killAtPoint
		case n < 2 && left > 1 && shared:
			k = killGateways
		case n < 5 && shared:
			k = pauseAndKill
		case n < 8:
			k = killAtPoint
		}
		wanted = append(wanted, k)
		left -= k.kills()
	}
	random.Shuffle(len(wanted), func(i, j int) { wanted[i], wanted[j] = wanted[j], wanted[i] })
	if shared {
		wanted = slices.Insert(wanted, len(wanted)/2+1+random.IntN(len(wanted)-len(wanted)/2), failOver)
	}
	var all []fault
	for i, k := range wanted {
		f := fault{
			kind: k,
			at:   (float64(i) + 0.2 + 0.6*random.Float64()) / float64(len(wanted)),
			of:   random.IntN(1 << 10),
			hold: shortestPause + time.Duration(random.Int64N(int64(longestPause-shortestPause))),

			aimed: k.kills() > 0 && !k.atPoint() && random.IntN(3) > 0,
		}
		if k.atPoint() {
			points := pointsFor(k)
			f.point = points[random.IntN(len(points))]
		}
		all = append(all, f)
	}
	return append(all, last)
}
