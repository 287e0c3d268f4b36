package blows

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"portico/internal/failpoint"
	"portico/test/harness"
)

// kind is a durable kind of work.
type kind struct {
	name string
	jobs []string // the kinds of the jobs that do it
	// points are those that it is struck at in the short form.
	points []failpoint.Point
	// chance is in the lines about events that depend on the moment: that a resource was seen
	// before it was deleted. "" for none.
	chance string
	// holds is how many resources the providers hold of the place in the end.
	holds int
	// once: a provider gets no PUT twice, wherever gateways are killed.
	once bool
	// prepare makes what there is before; nil: nothing but the group rg.
	prepare func(place) error
	// do is what clients and operators do to have it done; they wait for its end where
	// clients do.
	do func(place) error
}

func all(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (p place) machine(name, region string, header ...string) func() error {
	return func() error { return p.putMachine(name, region, header...) }
}

func (p place) disk(of string) func() error {
	return func() error {
		return p.make(p.resource("Contoso.Compute/virtualMachines/"+of+"/disks/d"), harness.Version, `{"properties":{"sizeGB":1}}`)
	}
}

func (p place) remove(id, version string, header ...string) func() error {
	return func() error {
		_, err := p.call(harness.Request{Method: http.MethodDelete, Path: id + "?api-version=" + version, Header: harness.Header(header...)},
			func(a harness.Answer) bool { return done(a) || gone(a) })
		return err
	}
}

// removeGroup deletes the group, and waits until it has gone.
func (p place) removeGroup() error {
	return all(p.remove(p.group("rg"), groupVersion), func() error {
		_, err := p.call(harness.Request{Method: http.MethodGet, Path: p.group("rg") + "?api-version=" + groupVersion}, gone)
		return err
	})
}

// putTwoAndADisk makes resources in two regions.
func (p place) putTwoAndADisk() error {
	return all(p.machine("a", "westus"), p.disk("a"), p.machine("b", "eastus"))
}

const vm = "Contoso.Compute/virtualMachines/"

func kinds() []kind {
	return []kind{
		{
			name: "batch", jobs: []string{"batch"}, holds: 3, do: batch,
			points: []failpoint.Point{failpoint.BatchBeginBefore, failpoint.BatchBeginAfter, failpoint.BatchAnswerBefore, failpoint.BatchAnswerAfter},
		},
		{
			name: "write that lands in a deleted group", jobs: []string{"fence"}, chance: "ResourceWriteSuccess",
			points: []failpoint.Point{failpoint.GroupCloseBefore, failpoint.GroupCloseAfter, failpoint.UpstreamSendAfter},
			do: func(p place) error {
				return all(func() error { return p.loseAnswer("late=3s") }, p.removeGroup)
			},
		},
		{
			name: "write without an answer", jobs: []string{"verify"}, holds: 1,
			points: []failpoint.Point{failpoint.ObserveBefore, failpoint.ObserveAfter, failpoint.UpstreamSendBefore},
			do:     func(p place) error { return p.loseAnswer("reset-after") },
		},
		{
			name: "write", holds: 1,
			points: []failpoint.Point{failpoint.WriteBeginBefore, failpoint.WriteBeginAfter, failpoint.AnswerSettleBefore},
			do: func(p place) error {
				return all(p.machine("a", "westus"), p.machine("b", "eastus"), p.machine("a", "westus"), p.remove(p.resource(vm+"b"), harness.Version))
			},
		},
		{
			name: "operation that no one polls", jobs: []string{"follow"}, holds: 1, prepare: place.putTwoAndADisk,
			points: []failpoint.Point{failpoint.FollowEndBefore, failpoint.FollowEndAfter, failpoint.AnswerSettleAfter},
			do: func(p place) error {
				return all(p.machine("b", "eastus", "X-Contoso-Async", "azure-async", "X-Contoso-Duration", "50ms"),
					p.remove(p.resource(vm+"a"), harness.Version, "X-Contoso-Async", "location", "X-Contoso-Duration", "50ms"))
			},
		},
		{
			name: "deletion of a group", jobs: []string{"group-delete"}, prepare: place.putTwoAndADisk, do: place.removeGroup,
			points: []failpoint.Point{failpoint.GroupBeginBefore, failpoint.GroupBeginAfter, failpoint.GroupSettleBefore, failpoint.GroupSettleAfter},
		},
		{
			name: "move", jobs: []string{"validate-move", "move"}, holds: 3,
			points: []failpoint.Point{
				failpoint.MoveBeginBefore, failpoint.MoveBeginAfter, failpoint.MoveSettleBefore, failpoint.MoveSettleAfter, failpoint.MoveEndBefore, failpoint.MoveEndAfter,
			},
			prepare: func(p place) error {
				return all(func() error { return p.make(p.group("to"), groupVersion, `{"location":"westus"}`) }, p.putTwoAndADisk)
			},
			do: func(p place) error {
				return all(func() error { return p.moves("validateMoveResources") }, func() error { return p.moves("moveResources") })
			},
		},
		{
			name: "deployment", jobs: []string{"deployment"}, holds: 3, once: true,
			points: []failpoint.Point{failpoint.DeployBeginBefore, failpoint.UpstreamSendBefore, failpoint.UpstreamSendAfter, failpoint.DeploySettleBefore, failpoint.DeployEndBefore},
			do:     func(p place) error { return p.deploy("Incremental", "a", "b", "c") },
		},
		{
			name: "deployment in complete mode", jobs: []string{"deployment"}, holds: 2, once: true,
			points:  []failpoint.Point{failpoint.DeployBeginAfter, failpoint.DeploySettleAfter, failpoint.DeployEndAfter},
			prepare: func(p place) error { return all(p.machine("x", "northeurope"), p.machine("y", "eastus")) },
			do:      func(p place) error { return p.deploy("Complete", "a", "b") },
		},
		{
			name: "registration", jobs: []string{"notice", "registration"},
			points: []failpoint.Point{failpoint.NoticeBeginBefore, failpoint.NoticeEndBefore, failpoint.JobClaimBefore},
			do: func(p place) error {
				_, err := p.call(harness.Request{Method: http.MethodPost, Path: p.subscription() + "/providers/Contoso.Insight/register?api-version=" + groupVersion}, done)
				return err
			},
		},
		{
			name: "notice", jobs: []string{"notice"}, holds: 1,
			points:  []failpoint.Point{failpoint.NoticeBeginAfter, failpoint.NoticeEndAfter, failpoint.JobClaimAfter},
			prepare: func(p place) error { return p.putMachine("a", "westus") },
			do:      func(p place) error { return p.putSubscription("Warned") },
		},
		{
			name: "erasing of a subscription", jobs: []string{"notice", "erase"}, prepare: place.putTwoAndADisk,
			points: []failpoint.Point{failpoint.EraseBefore, failpoint.EraseAfter, failpoint.EventRecordBefore},
			do: func(p place) error {
				return all(func() error { return p.putSubscription("Deleted") }, func() error {
					_, err := p.order(harness.Request{Method: http.MethodGet, Path: "/admin/subscriptions/" + p.sub},
						func(a harness.Answer) bool { return strings.Contains(string(a.Body), `"erased":true`) })
					return err
				})
			},
		},
		{
			name: "sweep", jobs: []string{"sweep"}, holds: 2,
			points: []failpoint.Point{failpoint.JobConcludeBefore, failpoint.JobConcludeAfter, failpoint.EventRecordAfter},
			prepare: func(p place) error {
				return all(p.machine("a", "westus"), func() error {
					_, err := p.providers[1].Call(p.ctx, harness.Request{
						Method: http.MethodPut, Path: p.resource(vm+"older") + "?api-version=" + harness.Version, Body: `{"location":"eastus","properties":{"size":"small"}}`,
					})
					return err
				})
			},
			do: func(p place) error {
				_, err := p.order(harness.Request{Method: http.MethodPost, Path: "/admin/sweeps", Body: fmt.Sprintf(`{"subscription":%q}`, p.sub)}, done)
				return err
			},
		},
		{
			name: "events to a receiver", jobs: []string{"sink"},
			points: []failpoint.Point{failpoint.StoreCommitBefore, failpoint.StoreCommitAfter},
			do: func(p place) error {
				for i := range 3 {
					if err := p.make(p.group(fmt.Sprint("told-", i)), groupVersion, `{"location":"westus"}`); err != nil {
						return err
					}
				}
				return nil
			},
		},
	}
}

// loseAnswer has a provider break the connection of a PUT, once that has come to it.
func (p place) loseAnswer(fault string) error {
	path := p.resource(vm + "a")
	_, err := p.call(harness.Request{
		Method: http.MethodPut, Path: path + "?api-version=" + harness.Version, Body: `{"location":"westus","properties":{"size":"small"}}`,
		Header: harness.Header("X-Contoso-Fault", fault),
	}, func(a harness.Answer) bool {
		if a.Status != http.StatusBadGateway {
			return false
		}
		var got struct{ Value []harness.Received }
		list, err := p.providers[0].Call(p.ctx, harness.Request{Method: http.MethodGet, Path: "/contoso/requests"})
		if err == nil {
			err = json.Unmarshal(list.Body, &got)
		}
		return err == nil && slices.ContainsFunc(got.Value, func(r harness.Received) bool { return r.Method == http.MethodPut && r.Path == path })
	})
	return err
}

// moves begins a move of both machines, and polls it to its end. It has begun also where a
// repeated request is told that the machines are being moved, or are elsewhere.
func (p place) moves(action string) error {
	body, err := json.Marshal(map[string]any{"targetResourceGroup": p.group("to"), "resources": []string{p.resource(vm + "a"), p.resource(vm + "b")}})
	if err != nil {
		return err
	}
	a, err := p.call(harness.Request{Method: http.MethodPost, Path: p.group("rg") + "/" + action + "?api-version=" + groupVersion, Body: string(body)},
		func(a harness.Answer) bool {
			return a.Status == http.StatusAccepted || gone(a) || a.ErrorCode() == "ResourcesBeingMoved"
		})
	if err != nil || a.Status != http.StatusAccepted {
		return err
	}
	a, err = p.polled(a.Header.Get("Location"))
	if err == nil && !done(a) {
		err = fmt.Errorf("%s: %d %s", action, a.Status, a.Body)
	}
	return err
}

// polled polls an operation until it is no longer under way.
func (p place) polled(location string) (harness.Answer, error) {
	at, err := url.Parse(location)
	if err != nil {
		return harness.Answer{}, err
	}
	return p.call(harness.Request{Method: http.MethodGet, Path: at.RequestURI()}, func(a harness.Answer) bool {
		return a.Status != http.StatusAccepted && a.Status < 500
	})
}

// batch makes three machines by one request, and sends again by itself what did not bring
// an answer.
func batch(p place) error {
	var requests []string
	for i, region := range harness.RegionNames() {
		requests = append(requests, fmt.Sprintf(`{"name":"%d","httpMethod":"PUT","url":"%s%d?api-version=%s","content":{"location":%q,"properties":{"size":"small"}}}`,
			i, p.resource(vm+"m"), i, harness.Version, region))
	}
	a, err := p.call(harness.Request{Method: http.MethodPost, Path: "/batch?api-version=2020-06-01", Body: `{"requests":[` + strings.Join(requests, ",") + `]}`}, done)
	if err != nil {
		return err
	}
	if a, err = p.polled(a.Header.Get("Location")); err != nil {
		return err
	}
	var answers struct {
		Responses []struct{ HTTPStatusCode int }
	}
	if err := json.Unmarshal(a.Body, &answers); err != nil || len(answers.Responses) != len(requests) {
		return fmt.Errorf("%w: %s", err, a.Body)
	}
	for i, region := range harness.RegionNames() {
		if answers.Responses[i].HTTPStatusCode >= 300 {
			if err := p.putMachine(fmt.Sprint("m", i), region); err != nil {
				return err
			}
		}
	}
	return nil
}

// machines is a template of machines of which each depends on the one before it.
func machines(mode string, names ...string) string {
	var resources []string
	for i, name := range names {
		after := ""
		if i > 0 {
			after = fmt.Sprintf(`"dependsOn":["[resourceId('Contoso.Compute/virtualMachines','%s')]"],`, names[i-1])
		}
		resources = append(resources, fmt.Sprintf(`{"type":"Contoso.Compute/virtualMachines","apiVersion":%q,"name":%q,"location":%q,%s"properties":{"size":"small"}}`,
			harness.Version, name, harness.RegionNames()[i%2], after))
	}
	return fmt.Sprintf(`{"properties":{"mode":%q,"template":{"$schema":"https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#","contentVersion":"1.0.0.0","resources":[%s]}}}`,
		mode, strings.Join(resources, ","))
}

// deploy deploys machines, and waits for the end. A client whose PUT had no answer is told
// that it is under way.
func (p place) deploy(mode string, names ...string) error {
	id := p.group("rg") + "/providers/Microsoft.Resources/deployments/d"
	_, err := p.call(harness.Request{Method: http.MethodPut, Path: id + "?api-version=" + groupVersion, Body: machines(mode, names...)},
		func(a harness.Answer) bool { return done(a) || a.ErrorCode() == "DeploymentActive" })
	if err != nil {
		return err
	}
	_, err = p.call(harness.Request{Method: http.MethodGet, Path: id + "?api-version=" + groupVersion}, func(a harness.Answer) bool {
		return a.Status == http.StatusOK && strings.Contains(string(a.Body), `"provisioningState":"Succeeded"`)
	})
	return err
}
