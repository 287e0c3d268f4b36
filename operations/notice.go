package operations

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"portico/failpoint"
	"portico/fanout"
	"portico/inventory"
	"portico/regions"
	"portico/upstream"
)

// Noticing is the kind of work that tells the endpoints of providers what has
// become of a subscription (subscription lifecycle, Creating or Updating a
// Subscription), one job for each endpoint that does not know the newest version.
//
// The newest is what an endpoint learns last, whoever dies on the way. The
// version is read before each attempt, and the job ends only if there is no newer
// one when the endpoint has confirmed it. Each attempt is recorded before its
// first byte, and can leave only for a short time after that. One that was
// recorded and not answered, by a process that is gone maybe, can thus reach the
// endpoint up to a known time: past that the endpoint is told once more, and
// until then the job goes on.
type Noticing struct {
	Map      *regions.Map
	Store    *inventory.Store
	Upstream *upstream.Client
	Public   *url.URL // under which providers know the front door
	Region   string   // of the front door, for the ids of its calls
	// SendWithin, CallLimit and LateWriteWindow say how long an attempt may
	// still leave, be answered, and take effect.
	SendWithin, CallLimit, LateWriteWindow time.Duration
	// Absence is for how long an endpoint that the map lacks is waited for: an older
	// or newer map of another replica may have it.
	Absence time.Duration
	Floor   time.Duration // the least pause before the next attempt

	slots     *endpointSlots
	announced round // of seeing to it that endpoints that joined the map are told
}

// NewNoticing completes a Noticing.
func NewNoticing(n Noticing) *Noticing {
	n.slots = newEndpointSlots(noticesPerEndpoint, noticesPerEndpoint)
	return &n
}

const (
	// noticesPerEndpoint is how many notices one replica sends to an endpoint at
	// a time: fewer than it works on, for one that hangs must not hold them all.
	noticesPerEndpoint = 4
	// noticesAtOnce is how many versions one attempt tells.
	noticesAtOnce = 8
	// returnedAtOnce is for how many subscriptions endpoints that are back are told
	// in one go.
	returnedAtOnce = 500
	// longestNotice bounds the pause before an endpoint is told again that gave
	// no reason.
	longestNotice = 5 * time.Minute
)

// NoticeVersion is the api-version of all notices.
const NoticeVersion = "2.0"

// Addressees are the endpoints of a provider, or of all of a map.
func Addressees(providers ...*regions.Provider) (all []inventory.Addressee) {
	for _, p := range providers {
		for _, e := range p.Endpoints() {
			all = append(all, inventory.Addressee{
				Namespace: p.Key, Region: e.Region, Address: e.String(), Required: p.Registration == regions.Required,
			})
		}
	}
	return all
}

// Run tells the endpoint, until it knows the newest version.
func (k *Noticing) Run(ctx context.Context, h *Held) (Verdict, error) {
	n, err := inventory.ReadNotice(h.Job)
	if err != nil {
		return Verdict{End: inventory.JobFailed}, err
	}
	provider, endpoint := k.addressee(n)
	if endpoint == nil {
		return k.gone(ctx, h, n)
	}
	release, free := k.slots.free(endpoint)
	if !free {
		return Verdict{Again: k.Floor*4 + rand.N(k.Floor*4+1)}, nil
	}
	defer release()
	for range noticesAtOnce {
		again, err := k.tell(ctx, h, &n, provider, endpoint)
		switch {
		case errors.Is(err, inventory.ErrChanged):
			continue // there is a newer version
		case err != nil:
			return Verdict{}, err
		case again > 0:
			return Verdict{Again: again, Payload: n.String()}, nil
		}
		return Verdict{Recorded: true}, nil
	}
	return Verdict{Again: k.Floor, Payload: n.String()}, nil
}

func (k *Noticing) addressee(n inventory.Notice) (*regions.Provider, *regions.Endpoint) {
	provider := k.Map.Provider(n.Namespace)
	if provider == nil {
		return nil, nil
	}
	for _, e := range provider.Endpoints() {
		if e.Region == n.Region && e.String() == n.Address {
			return provider, e
		}
	}
	return provider, nil
}

func (k *Noticing) gone(ctx context.Context, h *Held, n inventory.Notice) (Verdict, error) {
	n.Progress.Answer = "the region map has no such endpoint"
	if k.Store.Time().Sub(h.Job.Created) < k.Absence {
		return Verdict{Again: max(k.Floor, time.Second) * 10, Payload: n.String()}, nil
	}
	if err := k.Store.DropNotice(ctx, h.Job, n); err != nil {
		return Verdict{}, err
	}
	return Verdict{Recorded: true}, nil
}

// tell makes one attempt. Without an error and a pause the job has ended.
func (k *Noticing) tell(ctx context.Context, h *Held, n *inventory.Notice, p *regions.Provider, to *regions.Endpoint) (again time.Duration, err error) {
	known, err := k.Store.Announcement(ctx, h.Job.Subscription, n.Namespace)
	if err != nil {
		return 0, err
	}
	// What was not answered may arrive until its time is over, and then hide what
	// is told now.
	begun, now, doubt := time.Now(), k.Store.Time(), n.Ends
	if !doubt.After(now) {
		doubt = time.Time{}
	}
	n.Progress.State = noticeState(known, p.Registration == regions.Required)
	n.Ends = now.Add(k.SendWithin + k.CallLimit + k.LateWriteWindow)
	failpoint.Pass(failpoint.NoticeBeginBefore)
	if err := h.Save(ctx, n.String()); err != nil {
		return 0, err
	}
	failpoint.Pass(failpoint.NoticeBeginAfter)
	answer := k.send(ctx, h, known, n.Progress.State, p, to, begun)
	n.Progress.Answer = answer.text
	if answer.certain {
		n.Ends = doubt
	}
	if !answer.confirmed {
		n.Progress.Tries++
		return k.pause(answer, n.Progress.Tries), nil
	}
	n.Progress.Tries = 0
	if !doubt.IsZero() {
		return max(0, doubt.Sub(k.Store.Time())) + k.Floor, nil // and then once more
	}
	failpoint.Pass(failpoint.NoticeEndBefore)
	err = k.Store.EndNotice(ctx, h.Job, known.Subscription.Version, n.String())
	failpoint.Pass(failpoint.NoticeEndAfter)
	return 0, err
}

func (k *Noticing) pause(a noticed, tries int) time.Duration {
	if a.after > 0 {
		return max(k.Floor, min(a.after, longestPause))
	}
	pause := min(longestNotice, k.Floor<<min(tries, 10))
	return pause/2 + rand.N(pause/2+1)
}

// noticed is what came of an attempt.
type noticed struct {
	confirmed bool // the endpoint has taken it
	// certain: the attempt is over, and cannot take effect any more.
	certain bool
	after   time.Duration // what the endpoint asked for; 0: nothing
	text    string        // for operators
}

// send makes one call. 202 says that the endpoint is not done: its Location is
// not followed, it is told again (subscription lifecycle, Response).
func (k *Noticing) send(ctx context.Context, h *Held, known inventory.Announcement, state string, p *regions.Provider, to *regions.Endpoint, begun time.Time) noticed {
	path, query := "/subscriptions/"+known.Subscription.ID, "api-version="+NoticeVersion
	header := h.header(k.Region)
	header.Set("Referer", fanout.PublicLink(k.Public, path, query))
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set("Accept", "application/json")
	content := noticeBody(known, state, p.Namespace)
	response, err := k.Upstream.Do(ctx, upstream.Call{
		Endpoint: to, Method: http.MethodPut, Path: path, Query: query, Header: header, Content: content,
		Since: begun, SendWithin: k.SendWithin, EndWithin: k.CallLimit, Job: h.Job.Name(),
	})
	if err != nil {
		var fault *upstream.Fault
		unsent := errors.As(err, &fault) && !fault.Sent
		return noticed{certain: unsent, text: "no answer"}
	}
	defer response.Body.Close()
	_, broken := upstream.ReadAll(response.Header, response.Body, 1<<20)
	after, _ := upstream.RetryAfter(response.Header, time.Now())
	n := noticed{after: after, text: strconv.Itoa(response.StatusCode) + " " + http.StatusText(response.StatusCode)}
	switch status := response.StatusCode; {
	case status == http.StatusAccepted:
		n.certain = true
	case status >= 200 && status < 300:
		n.certain = broken == nil || errors.Is(broken, upstream.ErrTooLarge)
		n.confirmed = n.certain
	case status == http.StatusRequestTimeout, status >= 500:
	default:
		n.certain = true
	}
	return n
}

// free takes one of an endpoint's calls if there is one.
func (s *endpointSlots) free(to *regions.Endpoint) (release func(), free bool) {
	slots := s.of(to)
	if !slots.TryAcquire("") {
		return nil, false
	}
	return func() { slots.Release("") }, true
}

// Schedule sees to it that endpoints which come back to the region map are told of
// what they missed, whenever that is; and, once under each configuration, that
// every subscription is known to those that have joined it. It is for one
// goroutine to call.
func (k *Noticing) Schedule(ctx context.Context) error {
	all := Addressees(k.Map.Providers()...)
	_, err := k.Store.TellReturned(ctx, all, returnedAtOnce)
	if k.announced.ended {
		return err
	}
	return errors.Join(err, k.announced.visit(ctx, k.Store, func(sub inventory.Subscription) error {
		switch {
		case sub.Erased:
			return nil
		case sub.State == inventory.Deleted:
			return k.Store.Announce(ctx, sub.ID, unasked(all))
		}
		return k.Store.Announce(ctx, sub.ID, all)
	}))
}

// unasked are the endpoints as they are told what all have to know, registered for
// or not.
func unasked(all []inventory.Addressee) []inventory.Addressee {
	all = slices.Clone(all)
	for i := range all {
		all[i].Required = false
	}
	return all
}
